package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"echosieve/internal/app/build"
)

// Version returns the command that prints what the program was built from.
func Version() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print what this binary was built from",
		Args:  NoArgs,
	}
	asJSON := AddJSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *asJSON {
			return PrintJSON(cmd.OutOrStdout(), build.Read())
		}
		return printVersion(cmd)
	}
	return cmd
}

// printVersion prints one line, for the command version and for the flag --version of the program. Cobra's own flag would print less.
func printVersion(cmd *cobra.Command) error {
	b := build.Read()
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s (%s, %s, %s)\n", cmd.Root().Name(), b.Version, b.Revision, b.Go, b.Platform)
	return err
}
