// Command echosieve is a streaming near-duplicate filter for news. See `echosieve --help`.
package main

import (
	"os"

	"echosieve/app/command"
	"echosieve/cmd/echosieve/internal/compare"
	"echosieve/cmd/echosieve/internal/diff"
	"echosieve/cmd/echosieve/internal/explain"
	"echosieve/cmd/echosieve/internal/filter"
	"echosieve/cmd/echosieve/internal/index"
	"echosieve/cmd/echosieve/internal/mcp"
	"echosieve/redisindex/connection"

	"github.com/spf13/cobra"
)

func main() {
	connection.SilenceClients() // commands and logs explain the errors
	os.Exit(command.Main(newRootCommand()))
}

const rootHelp = `Echosieve reads news articles from a Kafka topic, decides for each whether it repeats an earlier one,
and publishes it to a topic for unique articles or one for duplicates. It finds exact and near copies by a
64-bit SimHash of the text and a second check; an index in Redis remembers a window of a week.

Delivery is exactly once where brokers and rights allow it, otherwise at least once. The verdict of an article never
changes: when Kafka delivers the article again, it gets the same verdict.

Settings come from a YAML file, the environment and flags. A flag wins over the environment, and both win over the file:
  echosieve.yaml                kafka: {brokers: [kafka:9092]}
  environment                   ECHOSIEVE_KAFKA_BROKERS=kafka:9092
  flag                          --kafka.brokers kafka:9092

Pages such as docs/operations.md are in /usr/share/doc/echosieve, in the archive, and at /docs/ of a running service.

echosieve-lab demo shows it at work without Kafka and Redis; its commands eval, bench and load measure it.

Exit codes: 0 done; 1 done, but lines were bad or check found problems; 2 failed, or the command line is wrong.`

const rootExample = `  # write a configuration, check it, start
  echosieve config reference > echosieve.yaml
  echosieve check --config echosieve.yaml
  echosieve run --config echosieve.yaml

  # publish a dump of articles
  zcat articles.jsonl.gz | echosieve produce --config echosieve.yaml

  # why was an article dropped?
  echosieve explain --config echosieve.yaml --id x44

  # completion for this shell
  source <(echosieve completion bash)`

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:     "echosieve",
		Short:   "Streaming near-duplicate filter for news: Kafka in, SimHash and Redis, Kafka out",
		Long:    rootHelp,
		Example: rootExample,
	}
	for _, group := range []struct {
		cobra.Group
		commands []*cobra.Command
	}{
		{cobra.Group{ID: "service", Title: "The service:"}, []*cobra.Command{newCheckCommand(), newConfigCommand(),
			newProduceCommand(), newReadyCommand(), newRunCommand(), newStoriesCommand()}},
		{cobra.Group{ID: "verdicts", Title: "Verdicts and the index:"}, []*cobra.Command{compare.Command(), diff.Command(),
			explain.Command(), filter.Command(), index.Command(), mcp.Command(), newLabelCommand(), newLearntCommand(),
			newLookCommand(), newReleaseCommand()}},
	} {
		root.AddGroup(&group.Group)
		for _, cmd := range group.commands {
			cmd.GroupID = group.ID
			root.AddCommand(cmd)
		}
	}
	return command.Program(root, command.Version())
}
