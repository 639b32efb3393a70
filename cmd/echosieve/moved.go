package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// moved names the commands of echosieve-lab. A user may expect them here.
var moved = []string{"bench", "demo", "eval", "load"}

// newMovedCommand returns a command that always fails: its error names the program that has the command. The help does not list it.
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
