// Command echosieve-lab shows echosieve at work and measures it, at a desk. See `echosieve-lab --help`.
package main

import (
	"os"

	"echosieve/app/command"
	"echosieve/redisindex/connection"
)

func main() {
	connection.SilenceClients() // commands and logs explain the errors
	os.Exit(command.Main(newRootCommand()))
}
