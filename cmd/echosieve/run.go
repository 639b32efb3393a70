package main

import (
	"github.com/spf13/cobra"

	"echosieve/internal/command"
	"echosieve/internal/config"
	"echosieve/internal/service"
)

func newRunCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "run",
		GroupID: groupService,
		Short:   "Read articles from Kafka, decide and publish, until stopped",
		Long: `Run joins the consumer group, gives each article of the input topic its verdict and publishes it to the
unique, duplicate or dead topic, then commits. Several processes of one group share the partitions.

SIGINT and SIGTERM stop it cleanly: it finishes the articles that it has begun, commits offsets and leaves the group.
While Kafka or Redis is away it waits and tries again. /readyz, the log and the metrics say so.`,
		Example: `  echosieve run --config echosieve.yaml
  echosieve run --kafka.brokers broker:9092 --kafka.topics.input articles --redis.addrs redis:6379
  ECHOSIEVE_KAFKA_BROKERS=broker:9092 echosieve run`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(cmd.Flags())
			if err != nil {
				return err
			}
			log := cfg.Log.NewLogger(cmd.ErrOrStderr())
			s, err := service.New(cmd.Context(), cfg, log)
			if err != nil {
				return err
			}
			return s.Run(cmd.Context())
		},
	}
	config.AddFlags(cmd.Flags())
	return cmd
}
