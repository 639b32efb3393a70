// Command echosieve-lab shows echosieve at work and measures it, at a desk. See `echosieve-lab --help`.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/cmd/echosieve-lab/internal/bench"
	"echosieve/cmd/echosieve-lab/internal/demo"
	"echosieve/cmd/echosieve-lab/internal/eval"
	"echosieve/cmd/echosieve-lab/internal/load"
	"echosieve/redisindex/connection"
)

func main() {
	connection.SilenceClients() // commands and logs explain the errors
	os.Exit(command.Main(newRootCommand()))
}

const rootHelp = `Echosieve-lab shows echosieve, a streaming near-duplicate filter for news, at work and measures it. It
is for a desk, not for production: it can run Kafka and Redis in its own process, and writes reports as HTML.

  demo    the whole service on the shipped sample
  eval    how well it tells copies from look-alikes, on your own articles
  bench   CPU time of each stage per article
  load    delay, memory and CPU time of the service at a given rate, or the highest rate that it sustains

Every setting of the service can be given to eval, bench and load, from a YAML file, the environment or flags: measure
the settings that you run, then the settings that you consider.

Exit codes: 0 done; 1 done, but a limit was not kept or verdicts are missing; 2 failed, or the command line is wrong.`

const rootExample = `  # see it at work, without Kafka or Redis
  echosieve-lab demo

  # how many copies would it catch, and how many originals would it drop?
  echosieve-lab eval stream --docs articles.jsonl.gz --html report.html`

// newRootCommand returns the program with all its commands.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:     "echosieve-lab",
		Short:   "See echosieve at work, and measure it",
		Long:    rootHelp,
		Example: rootExample,
	}
	return command.Program(root, bench.Command(), demo.Command(), eval.Command(), load.Command(), command.Version())
}
