package main

import (
	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/service"
)

func newStoriesCommand() *cobra.Command {
	var role service.StoriesConfig
	cmd := &cobra.Command{
		Use:   "stories",
		Short: "Publish a record for each story: who carried it, who was first, the best copy",
		Long: `Stories reads the topics for unique articles, possible copies and duplicates, and publishes a record for each
story: an article with all that repeat it. The record tells how many carried it, who was first and which copy to show.
It is published again when the story grows, under the same key, into a compacted topic of one partition
(docs/stories.md).

It is a process of its own beside the service, has the same settings, and may be started at any time: it reads what the
output topics still hold. Several processes share the partitions. The state is in Redis, in the namespace of the index.
If Redis loses it, or with --rebuild, all processes begin anew at the start of the output topics.`,
		Example: `  echosieve stories --config echosieve.yaml --http.listen 127.0.0.1:9465
  echosieve stories --config echosieve.yaml --http.listen 127.0.0.1:9465 --changes`,
		Args: command.NoArgs,
	}
	cmd.Flags().StringVar(&role.Topic, "topic", "",
		"`topic` of the records; empty: the first of kafka.topics.input with -stories, which the console reads")
	cmd.Flags().StringVar(&role.Owners, "owners", "",
		"`file` with the owners of publishers that count as one, as in docs/stories.md")
	cmd.Flags().StringSliceVar(&role.Trusted, "trusted", nil,
		"publishers whose copies are the best ones to show, the best first")
	cmd.Flags().BoolVar(&role.Changes, "changes", false,
		"also publish what is new in each version, into the first of kafka.topics.input with -changes")
	cmd.Flags().StringVar(&role.Labels, "labels", "",
		"`topic` of the labels that \"echosieve label\" publishes; empty: none")
	cmd.Flags().BoolVar(&role.Rebuild, "rebuild", false, "forget all stories, and build them anew")
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, _ []string) error {
		log, _ := cfg.Log.NewLogger(cmd.ErrOrStderr())
		s, err := service.NewStories(cmd.Context(), cfg, role, log)
		if err != nil {
			return err
		}
		return s.Run(cmd.Context())
	})
}
