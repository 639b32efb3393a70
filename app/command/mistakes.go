package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"echosieve/app/config"
	"echosieve/app/config/schema"
)

// Wrong usage is answered by one sentence that says what to type, and by exit code 2; see
// commandtest.WrongUsage. Cobra would print the help and end with exit code 0 when a sub-command is unknown
// or missing, or a help topic is unknown.

// refuseMistakes makes every command that has sub-commands, and does nothing by itself, refuse a name that is
// none of them. It also makes the completion commands, which cobra adds, refuse arguments with our message.
// Call it after all commands are added.
func refuseMistakes(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.HasSubCommands() {
			if !sub.Runnable() {
				sub.Args, sub.RunE = commandArgs, needCommand
			}
			refuseMistakes(sub)
			continue
		}
		if cmd.Name() == "completion" {
			sub.Args = NoArgs
		}
		takes := sub.Args
		sub.Args = func(cmd *cobra.Command, args []string) error {
			if err := looseValue(cmd, args); err != nil || takes == nil {
				return err
			}
			return takes(cmd, args)
		}
	}
}

// looseValue refuses "--flag false": a flag that is true or false takes its value behind an equals sign.
func looseValue(cmd *cobra.Command, args []string) (err error) {
	i := slices.IndexFunc(args, func(a string) bool { return a == "true" || a == "false" })
	if i < 0 {
		return nil
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" && err == nil {
			err = fmt.Errorf("--%s %s: write --%s=%s (a file of that name is ./%s)", f.Name, args[i], f.Name, args[i], args[i])
		}
	})
	return err
}

// commandArgs refuses arguments of a command that has sub-commands: the first argument should have been one of them.
func commandArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

// needCommand is run for a command that has sub-commands when the user named none of them.
func needCommand(cmd *cobra.Command, _ []string) error {
	return fmt.Errorf("%s needs one of its commands: %s; see %s --help", NameOf(cmd),
		strings.Join(commandNames(cmd), ", "), cmd.CommandPath())
}

// unknownCommand returns an error that names the command that was probably meant: a sub-command of cmd, else
// of another command.
func unknownCommand(cmd *cobra.Command, name string) error {
	unknown := fmt.Sprintf("unknown command %q", name)
	if cmd.HasParent() {
		unknown += " of " + NameOf(cmd)
	}
	if near := schema.Nearest(name, commandNames(cmd)); near != "" {
		return fmt.Errorf("%s; did you mean %s %s?", unknown, cmd.CommandPath(), near)
	}
	for _, group := range cmd.Root().Commands() {
		if group.Name() == "completion" { // its commands are names of shells
			continue
		}
		if near := schema.Nearest(name, commandNames(group)); near != "" && group != cmd {
			return fmt.Errorf("%s; did you mean %s %s?", unknown, group.CommandPath(), near)
		}
	}
	return fmt.Errorf("%s; see %s --help", unknown, cmd.CommandPath())
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
	}
	return names
}

// newHelpCommand is cobra's help command, except that an unknown topic is an error.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 && topic.HasSubCommands() {
				return unknownCommand(topic, rest[0])
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// NameOf returns the name of a command with the names of its parents, such as "config print". The name of the
// program is left out because every error begins with it.
func NameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// NoArgs is the cobra.Command.Args of a command that takes no arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no arguments, but got %q; see %s --help", NameOf(cmd), args[0], cmd.CommandPath())
}

// One returns the cobra.Command.Args of a command that takes one argument. wants says which, for the message
// about others.
func One(wants string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "" {
			return nil
		}
		return fmt.Errorf("%s wants %s; see %s --help", NameOf(cmd), wants, cmd.CommandPath())
	}
}

// explainFlag translates an error of pflag: the message says what to type instead.
func explainFlag(cmd *cobra.Command, err error) error {
	unknown, invalid := (*pflag.NotExistError)(nil), (*pflag.InvalidValueError)(nil)
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &invalid):
		want := wanted[invalid.GetFlag().Value.Type()]
		if config.Schema().HasFlag(invalid.GetFlag()) {
			want = invalid.Unwrap().Error()
		}
		return fmt.Errorf("--%s %s, not %q", invalid.GetFlag().Name, want, invalid.GetValue())
	default:
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
}

// wanted says which values a flag takes if it is no setting. The keys are pflag's names of the types.
var wanted = map[string]string{
	"bool": "wants true or false", "int": "wants a whole number", "uint64": "wants a whole number, 0 or more",
	"float64":  "wants a number",
	"duration": "wants a duration such as 7d, 168h, 30s or 250ms",
	"intSlice": "wants whole numbers with commas between them, such as 25,50,90",
}

// unknownFlag returns an error that names the flag that was probably meant.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name, given := unknown.GetSpecifiedName(), "--"+unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" { // -json
		name, given = letters, "-"+letters
	}
	if gone := config.Schema().Removed(name); gone != "" {
		return fmt.Errorf("--%s", gone)
	}
	if !cmd.HasParent() {
		return fmt.Errorf("unknown flag: %s; flags follow a command, for example %s %s --help", given, cmd.Name(),
			commandNames(cmd)[0])
	}
	var names []string
	for _, key := range config.Schema().Keys() { // in their order: the input topic comes first
		if cmd.Flags().Lookup(key.Name) != nil {
			names = append(names, key.Name)
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !config.Schema().HasFlag(f) {
			names = append(names, f.Name)
		}
	})
	if file := name + "_file"; slices.Contains(names, file) {
		return fmt.Errorf("%s is no flag, because every user of a machine can read command lines; put the secret "+
			"into a file and type --%s FILE", given, file)
	}
	if near := schema.Nearest(name, names); near != "" {
		return fmt.Errorf("unknown flag: %s; did you mean --%s?", given, near)
	}
	return fmt.Errorf("unknown flag: %s; see %s --help", given, cmd.CommandPath())
}
