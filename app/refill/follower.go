package refill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"echosieve/app/config"
	"echosieve/app/visible"
	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/watch"
)

// Follower stores what other indexes have decided since this one was filled, with new verdicts. The verdicts are the
// index's, so it does not matter if several processes fill the same gap, or if one is killed at it.
type Follower struct {
	Config   config.Config
	Handover *watch.Handover
	Marks    *admin.Tools
	Pipeline *pipeline.Pipeline
	Log      *slog.Logger
}

// sayInterval is the time between two words on how far it is.
const sayInterval = 2 * time.Second

// CatchUp implements consumer.Labels.
func (f *Follower) CatchUp(ctx context.Context, committed map[article.Coordinates]string, say func(string)) (
	lacked bool, err error,
) {
	lack, err := f.Handover.Lack(ctx, committed)
	if err != nil || lack == nil || len(lack.Gaps) == 0 {
		return false, errors.Join(err, f.Handover.HandOver(ctx, committed))
	}
	gaps := lack.Gaps
	archive, err := tools.NewArchive(f.Config.Kafka, f.Config.Kafka.Topics.Inputs...)
	if err != nil {
		return true, err
	}
	defer archive.Close()
	began, done, total := time.Now(), 0, int64(0)
	var ends []article.Coordinates
	for i := range gaps {
		from := &gaps[i].From
		oldest, err := archive.OffsetAt(ctx, from.Topic, from.Partition, began.Add(-f.Config.Window))
		if err != nil {
			return true, err
		}
		if oldest < 0 { // no record is young enough: nothing of the gap is read
			oldest = gaps[i].To
		}
		from.Offset = max(from.Offset, min(oldest, gaps[i].To))
		total += gaps[i].To - from.Offset
		end := *from
		end.Offset = gaps[i].To
		ends = append(ends, end)
	}
	var mu sync.Mutex
	var said time.Time
	report := func(more int) {
		mu.Lock()
		defer mu.Unlock()
		if done += more; time.Since(said) > sayInterval {
			said = time.Now()
			say(fmt.Sprintf("another index has decided since this one was filled: %d of %s stored", done,
				visible.Count(total, "record")))
		}
	}
	report(0)
	err = read(ctx, archive, gaps, func(ctx context.Context, records []record.Record) error {
		_, _, err := decide(ctx, f.Pipeline, f.Marks, records)
		if err == nil {
			next := records[len(records)-1].Coordinates
			next.Offset++
			err = f.Handover.Fill(ctx, next)
		}
		report(len(records))
		return err
	})
	if err == nil { // of some gaps nothing was read
		err = f.Handover.Fill(ctx, ends...)
	}
	if err == nil {
		f.Log.Info("this index has what another one had decided", "records", total, "took",
			time.Since(began).Round(time.Millisecond))
	}
	return true, err
}
