package boilerplate

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/produce"
	"echosieve/consumer/tools"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

// readArticles calls add with every article of a file or topic. It returns how many there were, and how many
// lines or records held none; add returns false for a text without words.
func readArticles(cmd *cobra.Command, cfg config.Config, from string, add func(article.Content) bool) (articles,
	bad int, err error,
) {
	from, isFile := files.OrTopic(from)
	isFile = isFile || from == "-"
	size := int64(-1)
	if isFile {
		size, cfg.Input.Config = files.Size([]string{from}), cfg.Input.AsJSON()
	}
	var done atomic.Int64
	progress := files.NewProgress(cmd.ErrOrStderr(), size, "read", done.Load)
	take := func(rec *record.Record) {
		if rec.Value == nil && rec.Oversize == nil { // a tombstone is no fault
			return
		}
		content, reject := cfg.Input.Decode(rec)
		if reject.IsDeletion() {
			return
		}
		if rec.Oversize != nil || reject != nil || !add(content) {
			progress.Bad.Add(1)
			return
		}
		done.Add(1)
	}
	stop := progress.Start()
	if isFile {
		lines := produce.NewLines(cfg, progress).Records(cmd.Context(), []string{from}, cmd.InOrStdin())
		for rec, failed := range lines {
			if err = failed; err == nil {
				take(&rec)
			}
		}
	} else {
		err = readTopic(cmd.Context(), cfg, from, take)
	}
	stop()
	if err == nil && done.Load() == 0 {
		err = fmt.Errorf("there is no article in %s", from)
	}
	return int(done.Load()), int(progress.Bad.Load()), err
}

// readTopic reads the records that the topic holds now, without a consumer group.
func readTopic(ctx context.Context, cfg config.Config, topic string, take func(*record.Record)) error {
	archive, err := tools.NewArchive(cfg.Kafka, topic)
	if err != nil {
		return err
	}
	defer archive.Close()
	partitions, err := archive.Partitions(ctx, topic)
	if err != nil {
		return fmt.Errorf("there is no file %s, and as a topic it cannot be read: %w", topic, err)
	}
	for p := range int32(partitions) {
		offsets, err := archive.Offsets(ctx, topic, p)
		if err != nil {
			return err
		}
		from := article.Coordinates{Topic: topic, Partition: p, Offset: offsets.First}
		if err := archive.Read(ctx, from, offsets.Next, func(r *record.Record) error {
			take(r)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
