package command

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"echosieve/app/config/schema"
)

// settingsWidth is where the list of settings is wrapped, in characters. Their names leave too little of a
// terminal's line for sentences.
const settingsWidth = 120

// printHelp prints the same as cobra, with its paragraphs as wide as a terminal.
func printHelp(cmd *cobra.Command, _ []string) {
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", fitProse(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))))
	_ = cmd.UsageFunc()(cmd) // like cobra: an output that is gone is no reason to fail
}

// printUsage returns a function that prints what cobra's own prints, except that the settings follow the command's
// other flags in a separate list: some ninety settings would bury the two flags that the reader is looking for.
//
// It uses no template of cobra's, because a program that links text/template keeps every method that any of
// its types has: the linker cannot see which of them a template calls, and the service binary grows by megabytes.
func printUsage(cobras func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		flags, settings, others := flagUsages(cmd, false, Columns), flagUsages(cmd, true, settingsWidth), len(unused(cmd))
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // else they are listed twice
		if err := cobras(cmd); err != nil {
			return err
		}
		text := "\nFlags:\n" + flags
		if settings != "" {
			text += "\n\nSettings (also in the YAML file, and as ECHOSIEVE_KAFKA_BROKERS and so on):\n" + settings
		}
		if others > 0 {
			text += fmt.Sprintf("\n\nThe other %d settings are read, too, and checked: %s --%s lists them.", others,
				cmd.CommandPath(), helpAll)
		}
		_, err := io.WriteString(cmd.OutOrStderr(), text+"\n")
		return err
	}
}

// helpAll is the flag that prints the help with all settings.
const helpAll = "help-all"

// addHelpAll adds --help-all to the commands whose help leaves out settings that the command does not use.
func addHelpAll(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		addHelpAll(sub)
	}
	if len(unused(cmd)) == 0 {
		return
	}
	cmd.Flags().BoolFunc(helpAll, "print this help with all settings, also those that the command does not use",
		func(string) error {
			for _, f := range unused(cmd) {
				f.Hidden = false
			}
			return cmd.Flags().Set("help", "true")
		})
}

// unused returns the settings that help leaves out.
func unused(cmd *cobra.Command) []*pflag.Flag {
	var found []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden && schema.HasFlag(f) {
			found = append(found, f)
		}
	})
	return found
}

// flagUsages returns the list of the flags that are settings, or, with settings false, of all other flags.
func flagUsages(cmd *cobra.Command, settings bool, width int) string {
	selected := pflag.NewFlagSet("", pflag.ContinueOnError)
	selected.SortFlags = !settings
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if schema.HasFlag(f) == settings {
			selected.AddFlag(f)
		}
	})
	return strings.TrimSuffix(selected.FlagUsagesWrapped(width), "\n")
}
