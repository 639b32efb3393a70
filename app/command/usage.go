package command

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"echosieve/app/config"
)

// settingsWidth is where the list of settings is wrapped, in characters. Their names leave too little of a
// terminal's line for sentences.
const settingsWidth = 120

// printHelp prints the same as cobra, with its paragraphs as wide as a terminal.
func printHelp(cmd *cobra.Command, _ []string) {
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", fitProse(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))))
	_ = cmd.UsageFunc()(cmd) // like cobra: an output that is gone is no reason to fail
}

// printUsage prints the same as cobra, except that the settings follow the command's other flags in a
// separate list: a hundred settings would bury the two flags that the reader is looking for.
//
// It uses no template of cobra's, because a program that links text/template keeps every method that any of
// its types has: the linker cannot see which of them a template calls. With a template the service binary has
// 32 MB instead of 24 MB.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	parent := cmd.HasAvailableSubCommands()
	if parent {
		fmt.Fprintf(&b, "\n  %s [command]", cmd.CommandPath())
	} else if cmd.Runnable() {
		fmt.Fprintf(&b, "\n  %s", cmd.UseLine())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\n\nExamples:\n%s", cmd.Example)
	}
	if parent {
		printCommands(&b, cmd)
	}
	if flags := flagUsages(cmd, false); flags != "" {
		fmt.Fprintf(&b, "\n\nFlags:\n%s", flags)
	}
	if settings := flagUsages(cmd, true); settings != "" {
		fmt.Fprintf(&b, "\n\nSettings (also in the YAML file, and as ECHOSIEVE_KAFKA_BROKERS and so on):\n%s", settings)
	}
	if n := len(unused(cmd)); n > 0 {
		fmt.Fprintf(&b, "\n\nThe other %d settings are read, too, and checked: %s --%s lists them.", n,
			cmd.CommandPath(), helpAll)
	}
	if parent {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more about a command.", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String()+"\n")
	return err
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
		if f.Hidden && config.Schema().HasFlag(f) {
			found = append(found, f)
		}
	})
	return found
}

// printCommands lists the commands of a command: each group under its title, then the commands without a group.
func printCommands(b *strings.Builder, cmd *cobra.Command) {
	list := func(title, group string) {
		fmt.Fprintf(b, "\n\n%s", title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	rest := "Commands:"
	for _, group := range cmd.Groups() {
		list(group.Title, group.ID)
		rest = "Others:"
	}
	list(rest, "")
}

// flagUsages returns the list of the flags that are settings, or, with settings false, of all other flags.
func flagUsages(cmd *cobra.Command, settings bool) string {
	selected := pflag.NewFlagSet("", pflag.ContinueOnError)
	selected.SortFlags = !settings
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if config.Schema().HasFlag(f) == settings {
			selected.AddFlag(f)
		}
	})
	width := Columns
	if settings {
		width = settingsWidth
	}
	return strings.TrimSuffix(selected.FlagUsagesWrapped(width), "\n")
}
