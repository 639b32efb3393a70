package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The exit codes of all commands.
const (
	exitOK     = 0
	exitNo     = 1 // the command did its work and the answer is bad: bad lines, problems found
	exitFailed = 2 // the command could not do its work: wrong usage or configuration, lost servers
)

// answerError ends a command with exitNo. Its text is printed like every other error.
type answerError struct{ text string }

func (e *answerError) Error() string { return e.text }

const rootHelp = `Echosieve reads news articles from a Kafka topic, decides for each whether it repeats an earlier one, and
publishes it to a topic for unique articles or one for duplicates. It recognises exact and near copies, in
Chinese and English, by a 64-bit SimHash of the text; an index in Redis remembers a window of a week.

Delivery is at least once; an article keeps its verdict for ever, also when it is delivered again.

Settings come from a YAML file, the environment and flags, the later ones win:
  echosieve.yaml                kafka: {brokers: [kafka:9092]}
  environment                   ECHOSIEVE_KAFKA_BROKERS=kafka:9092
  flag                          --kafka.brokers kafka:9092

Exit codes: 0 done; 1 done, but with bad lines or problems found; 2 failed, or not understood.`

const rootExample = `  # see it at work, without Kafka or Redis
  echosieve demo

  # write a configuration, see what is wrong with it, start
  echosieve config reference > echosieve.yaml
  echosieve check --config echosieve.yaml
  echosieve run --config echosieve.yaml

  # publish a dump of articles, one JSON object a line
  zcat articles.jsonl.gz | echosieve produce --config echosieve.yaml

  # completion for this shell
  source <(echosieve completion bash)`

// newRootCommand returns the command with all its subcommands.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "echosieve",
		Short:         "Streaming near-duplicate filter for news: Kafka in, SimHash and Redis, Kafka out",
		Long:          rootHelp,
		Example:       rootExample,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          commandArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRunE: requireFlags,
	}
	root.AddGroup(
		&cobra.Group{ID: groupService, Title: "The service:"},
		&cobra.Group{ID: groupTry, Title: "Try and measure:"},
	)
	for _, add := range commands {
		root.AddCommand(add())
	}
	root.SetFlagErrorFunc(explainFlag)
	root.SetHelpCommand(newHelpCommand())
	root.SetUsageTemplate(usageTemplate)
	return root
}

// The groups of commands in the help: GroupID of a command.
const (
	groupService = "service"
	groupTry     = "try"
)

// commands are the constructors of all subcommands, in no particular order: the help sorts them.
var commands = []func() *cobra.Command{
	newBenchCommand,
	newCheckCommand,
	newCompareCommand,
	newConfigCommand,
	newDemoCommand,
	newEvalCommand,
	newLoadCommand,
	newProduceCommand,
	newReadyCommand,
	newRunCommand,
	newVersionCommand,
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	refuseMistakes(root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(errOut, "echosieve:", err)
	if answer := (*answerError)(nil); errors.As(err, &answer) {
		return exitNo
	}
	return exitFailed
}

// addJSONFlag adds --json to a command that prints a result.
func addJSONFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print the result as JSON")
}

// printJSON prints a result, indented, with one line break at the end.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// onTerminal tells whether a command's input or output is one.
func onTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
