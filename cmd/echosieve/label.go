package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/config/schema"
	"echosieve/app/inquiry"
	"echosieve/consumer/tools"
	"echosieve/pipeline/record"
	"echosieve/stories"
)

func newLabelCommand() *cobra.Command {
	var l stories.Label
	cmd := &cobra.Command{
		Use: "label TOPIC/PARTITION/OFFSET|ID", Short: "Mark a story as retracted, false, corrected or embargoed",
		Long: `Label publishes a label for the story of an article, also of a dropped copy. The article is named as for
"echosieve release". "echosieve stories --labels TOPIC" reads the labels, and the records of stories tell them.

It needs Write on the topic of labels, which must exist, and Read on the input and output topics.

Exit codes: 0 published; 1 there is no such article; 2 failed: type the command again.`,
		Example: `  echosieve label --config echosieve.yaml --label retracted --text "Taken back." articles/2/1517`,
		Args:    cobra.ExactArgs(1),
	}
	asJSON := command.AddJSONFlag(cmd)
	topic := cmd.Flags().String("topic", "", "`topic` of labels; empty: the first of kafka.topics.input with -labels")
	cmd.Flags().StringVar(&l.Label, "label", "", strings.Join(stories.Labels, ", "))
	cmd.Flags().StringVar(&l.Text, "text", "", "why, in up to 512 bytes")
	since := schema.DurationFlag(cmd.Flags(), "since", 24*time.Hour, "how far back an id is searched")
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, names []string) error {
		if !slices.Contains(stories.Labels, l.Label) {
			return fmt.Errorf("--label is one of %s", strings.Join(stories.Labels, ", "))
		}
		if *topic == "" {
			*topic = cfg.Kafka.Topics.First() + "-labels"
		}
		reader := inquiry.NewReader(cfg, cmd.ErrOrStderr())
		defer reader.Close()
		reader.OnlyConfigured = true
		o, err := reader.Find(cmd.Context(), names[0], time.Now().Add(-*since))
		if err != nil {
			return err
		}
		root := o.Verdict.Root
		if root.Topic == "" {
			return &command.AnswerError{Text: o.Input.String() + ": it is a dead letter, or its value is null"}
		}
		if _, err := tools.FindInput(cmd.Context(), cfg.Kafka, *topic); err != nil {
			return err
		}
		l.Time = time.Now().UTC()
		labelled := stories.Labelled{Root: root.String(), Label: l}
		value, _ := json.Marshal(labelled) // strings, and a time of this year
		p, err := tools.NewProducer(cfg.Kafka, *topic)
		if err != nil {
			return err
		}
		defer p.Close()
		r := record.Record{Key: []byte(root.String()), Value: value, Time: l.Time}
		if err := p.Produce(cmd.Context(), []record.Record{r}); err != nil {
			return err
		}
		return command.Print(cmd, *asJSON, labelled, func() string {
			return fmt.Sprintf("the story of %s is labelled %s\n", root, l.Label)
		})
	}, "kafka", "input")
}
