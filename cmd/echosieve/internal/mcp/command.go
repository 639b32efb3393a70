// Package mcp is the command mcp: it answers agents about the stories, by the Model Context Protocol over standard
// input and output. It reads only.
package mcp

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

const help = `Mcp answers an agent about stories, by the Model Context Protocol over standard input and output: start
it from the settings of a client. It reads only, and gives titles and places, no whole texts.

It asks a running service with http.look (--url), or reads a file that filter --stories has written (--stories) and
needs no server. A service that wants a login takes the token of http.token_file (--token-file), or a name and a
password within the address.`

// Command returns the command mcp.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Answer agents about stories (Model Context Protocol)", Long: help, Args: cobra.NoArgs,
		Example: `  echosieve mcp --stories stories.jsonl
  echosieve mcp --url http://localhost:9464 --token-file token`,
	}
	file := cmd.Flags().String("stories", "", "`file` of filter --stories")
	address := cmd.Flags().String("url", "", "`address` of a service with http.look")
	token := cmd.Flags().String("token-file", "", "`file` with the token of the service")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var from source
		var err error
		switch {
		case (*file == "") == (*address == ""):
			return errors.New("mcp wants one of --stories FILE and --url ADDRESS")
		case *file != "" && *token != "":
			return errors.New("a file needs no token: leave --token-file out")
		case *file != "":
			from, err = open(*file)
		default:
			from, err = connect(*address, *token)
		}
		if err != nil {
			return err
		}
		err = newServer(from).Run(cmd.Context(), &mcp.StdioTransport{})
		if cmd.Context().Err() != nil { // SIGTERM
			err = nil
		}
		return err
	}
	return cmd
}
