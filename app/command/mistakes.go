package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"echosieve/app/config/schema"
)

// Wrong usage is answered by one sentence that says what to type, and by exit code 2; see
// commandtest.WrongUsage. Cobra would print the help and end with exit code 0 when a sub-command is unknown
// or missing.

// refuseMistakes makes every command that has sub-commands, and does nothing by itself, refuse a name that is
// none of them. Call it after all commands are added.
func refuseMistakes(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.HasSubCommands() && !sub.Runnable() {
			sub.Args, sub.RunE = commandArgs, needCommand
		}
		refuseMistakes(sub)
	}
}

// mostTypos is the number of typing errors up to which a command is suggested, as in cobra's own message.
const mostTypos = 2

// commandArgs refuses arguments of a command that has sub-commands: the first argument should have been one of them.
func commandArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = mostTypos
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %s %s?", args[0], cmd.CommandPath(), strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())
}

// needCommand is run for a command that has sub-commands when the user named none of them.
func needCommand(cmd *cobra.Command, _ []string) error {
	return fmt.Errorf("%s needs one of its commands; see %s --help", nameOf(cmd), cmd.CommandPath())
}

// nameOf returns the name of a command with the names of its parents, such as "config print". The name of the
// program is left out because every error begins with it.
func nameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// NoArgs is the cobra.Command.Args of a command that takes no arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no arguments, but got %q; see %s --help", nameOf(cmd), args[0], cmd.CommandPath())
}

// Wants returns the cobra.Command.Args of a command that takes n arguments, none of them empty. wants says which, for
// the message about others.
func Wants(n int, wants string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n && !slices.Contains(args, "") {
			return nil
		}
		return fmt.Errorf("%s wants %s; see %s --help", nameOf(cmd), wants, cmd.CommandPath())
	}
}

// explainFlag adds to an error of pflag what to type instead.
func explainFlag(cmd *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
	name := unknown.GetSpecifiedName()
	if cmd.Flags().Lookup(name+schema.FileSuffix) != nil {
		return fmt.Errorf("--%s is no flag, because every user of a machine can read command lines; put the secret "+
			"into a file and type --%s%s FILE", name, name, schema.FileSuffix)
	}
	var names []string
	cmd.Flags().SortFlags = false // the input topic comes first
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := schema.Nearest(name, names); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}
