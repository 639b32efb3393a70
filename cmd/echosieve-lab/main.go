// Command echosieve-lab shows echosieve at work and measures it, at a desk. See `echosieve-lab --help`.
package main

import (
	"os"

	"echosieve/internal/command"
)

func main() { os.Exit(command.Main(newRootCommand())) }
