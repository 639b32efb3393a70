package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/service"
)

func newRunCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Read articles from Kafka, decide and publish, until stopped",
		Long: `Run joins the consumer group, gives each article of the input topic its verdict and publishes it to the
unique, duplicate or dead topic, then commits. Several processes of one group share the partitions.

SIGINT and SIGTERM stop it cleanly: it finishes the articles that it has begun, commits offsets and leaves the group.
While Kafka or Redis is away it waits and tries again. /readyz, the log and the metrics say so.

SIGHUP loads the configuration again. Changes of log.level and policy are applied. If any other setting has changed,
nothing is applied, and the log names the settings that need a restart.

With --shadow it tries other settings beside the service: it reads the same input in a group of its own, keeps an index
of its own, and publishes every verdict to a topic of its own (articles-shadow) and to no other. Records there have no
value. The header echosieve-shadow names the topic that the service would have chosen.`,
		Example: `  echosieve run --config echosieve.yaml
  echosieve run --kafka.brokers broker:9092 --kafka.topics.input articles --redis.addrs redis:6379
  ECHOSIEVE_KAFKA_BROKERS=broker:9092 echosieve run
  echosieve run --shadow --config echosieve.yaml --detection.near 0.6`,
		Args: command.NoArgs,
	}
	config.AddShadowFlag(cmd.Flags(), shadowFlag)
	config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
		load := func() (config.Config, error) { return config.Load(cmd.Flags()) }
		cfg, err := load()
		if err != nil {
			return err
		}
		log, level := cfg.Log.NewLogger(cmd.ErrOrStderr())
		s, err := service.New(cmd.Context(), cfg, log)
		if err != nil {
			return err
		}
		s.ReloadOn(hangups, load, level)
		return s.Run(cmd.Context())
	}
	return cmd
}

// shadowFlag is the help of --shadow of a command of the service.
const shadowFlag = "use the names under shadow, so that the service is not disturbed (docs/recipe-change.md)"
