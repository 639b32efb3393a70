package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// moved are the commands of echosieve-lab that somebody may look for here.
var moved = []string{"bench", "demo", "eval", "load"}

// newMovedCommand returns a command that the help does not list. Whatever its arguments are, it only says where the command is.
func newMovedCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              "A command of echosieve-lab",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("%s is a command of echosieve-lab; type echosieve-lab %[1]s", name)
		},
	}
}
