package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"echosieve/internal/config"
	"echosieve/internal/config/schema"
)

// Wrong usage is answered by one sentence that says what to type; see TestWrongUsage. Cobra's own answers to a wrong
// sub-command, to a missing one and to a wrong help topic are the help, and the exit code 0.

// refuseMistakes makes the commands that only hold others refuse what is none of these, and those that cobra adds for
// completion refuse arguments in our words. It is called when all commands are there.
func refuseMistakes(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.HasSubCommands() {
			sub.Args, sub.RunE = commandArgs, needCommand
			refuseMistakes(sub)
		} else if cmd.Name() == "completion" {
			sub.Args = NoArgs
		}
	}
}

// commandArgs refuses the arguments of a command that only holds others: they should have been one of these.
func commandArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

// needCommand answers a command that only holds others and was given none.
func needCommand(cmd *cobra.Command, _ []string) error {
	return fmt.Errorf("%s needs a command behind it: %s; see %s --help", NameOf(cmd), strings.Join(commandNames(cmd), ", "), cmd.CommandPath())
}

// unknownCommand names the command that was probably meant: one of cmd, else one elsewhere.
func unknownCommand(cmd *cobra.Command, name string) error {
	unknown := fmt.Sprintf("unknown command %q", name)
	if cmd.HasParent() {
		unknown += " of " + NameOf(cmd)
	}
	if near := schema.Nearest(name, commandNames(cmd)); near != "" {
		return fmt.Errorf("%s; did you mean %s %s?", unknown, cmd.CommandPath(), near)
	}
	for _, group := range cmd.Root().Commands() {
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

// newHelpCommand is cobra's, except that it refuses a topic that is no command.
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

// NameOf is a command's name with those of its parents, without the program's, which stands before every error.
func NameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no arguments, but got %q; see %s --help", NameOf(cmd), args[0], cmd.CommandPath())
}

// requireFlags says which of the flags that a command needs are missing, as they are to be typed.
func requireFlags(cmd *cobra.Command, _ []string) error {
	var missing []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, required := f.Annotations[cobra.BashCompOneRequiredFlag]; required && !f.Changed {
			missing = append(missing, "--"+f.Name+" FILE") // the only kind that is required anywhere
		}
	})
	if missing == nil {
		return nil
	}
	return fmt.Errorf("%s needs %s; see %s --help", NameOf(cmd), strings.Join(missing, " and "), cmd.CommandPath())
}

// explainFlag says what to type in place of a flag that cannot be parsed.
func explainFlag(cmd *cobra.Command, err error) error {
	unknown, invalid, missing := (*pflag.NotExistError)(nil), (*pflag.InvalidValueError)(nil), (*pflag.ValueRequiredError)(nil)
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &invalid):
		want := wanted[invalid.GetFlag().Value.Type()]
		if config.Schema().HasFlag(invalid.GetFlag()) {
			want = invalid.Unwrap().Error()
		}
		return fmt.Errorf("--%s %s, not %q", invalid.GetFlag().Name, want, invalid.GetValue())
	case errors.As(err, &missing):
		f := missing.GetFlag()
		example := f.DefValue
		if example == "" {
			example = "VALUE"
		}
		return fmt.Errorf("--%s needs a value behind it, such as --%[1]s %s", f.Name, example)
	default:
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
}

// wanted is what flags that are no settings take, by pflag's name of their type.
var wanted = map[string]string{
	"bool": "wants true or false", "int": "wants a whole number", "uint64": "wants a whole number from 0", "float64": "wants a number",
	"duration": "wants a duration such as 30s or 5m", "intSlice": "wants whole numbers with commas between them, such as 25,50,90",
}

// unknownFlag names the flag that was probably meant.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name, given := unknown.GetSpecifiedName(), "--"+unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" { // -json
		name, given = letters, "-"+letters
	}
	if !cmd.HasParent() {
		return fmt.Errorf("unknown flag: %s; flags follow a command, for example %s %s --help", given, cmd.Name(), commandNames(cmd)[0])
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if file := name + "_file"; slices.Contains(names, file) { // a password: every user of the machine can read command lines
		return fmt.Errorf("unknown flag: %s; did you mean --%s?", given, file)
	}
	if near := schema.Nearest(name, names); near != "" {
		return fmt.Errorf("unknown flag: %s; did you mean --%s?", given, near)
	}
	return fmt.Errorf("unknown flag: %s; see %s --help", given, cmd.CommandPath())
}
