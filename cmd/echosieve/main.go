// Command echosieve is a streaming near-duplicate filter for news. See `echosieve --help`.
package main

import (
	"os"

	"echosieve/internal/command"
)

func main() { os.Exit(command.Main(newRootCommand())) }
