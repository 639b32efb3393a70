package index

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/consumer/tools"
	"echosieve/redisindex/watch"
)

const acceptHelp = `Accept ends the warning that the group's articles are in another index, without filling this one.
Use it after a change of settings if copies of earlier articles may pass as unique for one window. index refill ends the
warning, too, and then no copies pass.

It accepts what the group has committed so far. If processes with other settings keep running, the warning comes back.`

func newAcceptCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "accept", Short: "Do without the articles that are in another index", Long: acceptHelp,
		Example: `  echosieve index accept --config echosieve.yaml`,
		Args:    command.NoArgs,
	}
	asJSON := command.AddJSONFlag(cmd)
	config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		index, err := open(cmd)
		if err != nil {
			return err
		}
		defer index.Client().Close()
		text, err := accept(cmd.Context(), index)
		if err != nil {
			return err
		}
		return command.Print(cmd, *asJSON, map[string]any{"accepted": text}, func() string {
			var out lines
			if text == "" {
				out.line("nothing to accept: the group's commits name this index, or it was filled")
			} else {
				out.line("accepted: %s", text)
			}
			return out.String()
		})
	}
	return cmd
}

// accept returns what was accepted; "" if nothing was lacking.
func accept(ctx context.Context, index *opened) (string, error) {
	kafka := index.cfg.Kafka
	archive, err := tools.NewArchive(kafka, kafka.Topics.Inputs...)
	if err != nil {
		return "", err
	}
	defer archive.Close()
	labels, err := archive.Labels(ctx, kafka.Group, kafka.Topics.Inputs...)
	if err != nil {
		return "", err
	}
	handover := watch.NewHandover(index.Client(), index.Keys(), kafka.Group, index.cfg.Window)
	lack, err := handover.Lack(ctx, labels)
	if err != nil || lack == nil {
		return "", err
	}
	return lack.Text(index.Keys().ID), handover.Fill(ctx, slices.Collect(maps.Keys(labels))...)
}
