// Package command holds what the programs echosieve and echosieve-lab have in common on the command line:
// exit codes, answers to wrong usage, help texts, and flags that several commands have. It imports nothing of
// the service except its settings.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"echosieve/app/config"
	"echosieve/app/visible"

	"github.com/spf13/cobra"
)

// The exit codes of all commands.
const (
	ExitOK     = 0
	ExitNo     = 1 // the command did its work and the result is bad: bad lines, problems found
	ExitFailed = 2 // the command could not do its work: wrong usage or configuration, servers that do not answer
)

// exitInterrupted is the exit code after the second signal, as shells report it.
const exitInterrupted = 130

// AnswerError ends a command with ExitNo. Its text is printed like every other error.
type AnswerError struct{ Text string }

func (e *AnswerError) Error() string { return e.Text }

// Program completes the root command of a program: it adds the commands, and sets how help is printed and how
// wrong usage is answered.
func Program(root *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Args = commandArgs
	version := root.Flags().BoolP("version", "v", false, "print what this binary was built from")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			return printVersion(cmd, false)
		}
		return cmd.Help()
	}
	root.AddCommand(commands...)
	addHelpAll(root)
	addManCommand(root)
	root.SetFlagErrorFunc(explainFlag)
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(printUsage(root.UsageFunc()))
	return root
}

// Main runs the program with the arguments, the streams and the signals of this process, and returns its exit code.
func Main(root *cobra.Command) int {
	ctx, stop := SignalContext()
	defer stop()
	return Execute(ctx, root, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// SignalContext returns a context that ends with the first SIGINT or SIGTERM. The second one ends the process
// at once. The default action of the signals would do that as well, but not for the first process of a
// container.
func SignalContext() (context.Context, context.CancelFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		cancel()
		<-signals
		os.Exit(exitInterrupted) //nolint:forbidigo // the user has asked twice, and waits for nothing
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// Execute runs one command line and returns its exit code. Whatever the command prints, no text in it
// controls a terminal.
func Execute(ctx context.Context, root *cobra.Command, args []string, in io.Reader, out, errOut io.Writer) int {
	root.SetArgs(args)
	root.SetIn(in)
	out, errOut = visible.NewWriter(out), visible.NewWriter(errOut)
	root.SetOut(out)
	root.SetErr(errOut)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	refuseMistakes(root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	fmt.Fprintf(errOut, "%s: %s\n", root.Name(), visible.Error(err))
	if answer := (*AnswerError)(nil); errors.As(err, &answer) {
		return ExitNo
	}
	return ExitFailed
}

// Configured completes a command: it adds the flags of the settings, as config.AddFlags does, and runs with their
// configuration.
func Configured(cmd *cobra.Command, run func(cmd *cobra.Command, cfg config.Config, args []string) error,
	sections ...string) *cobra.Command {
	config.AddFlags(cmd.Flags(), sections...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		return run(cmd, cfg, args)
	}
	return cmd
}

// AddJSONFlag adds --json to a command that prints a result.
func AddJSONFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print the result as JSON")
}

// AddUnquotedFlag adds --unquoted to a command that reads files: see files.Reader.Unquoted.
func AddUnquotedFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("unquoted", false, "quotes in CSV and TSV files are letters like others, as Hive and mysql -B "+
		"write them")
}

// Print prints a result as JSON or as text.
func Print(cmd *cobra.Command, asJSON bool, v any, text func() string) error {
	if asJSON {
		return PrintJSON(cmd.OutOrStdout(), v)
	}
	_, err := io.WriteString(cmd.OutOrStdout(), text())
	return err
}

// PrintJSON prints a result, indented, with one line break at the end.
func PrintJSON(w io.Writer, v any) error {
	data, err := visible.Encode(v)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}
