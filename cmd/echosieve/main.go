// Command echosieve is a streaming near-duplicate filter for news. See `echosieve --help`.
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
