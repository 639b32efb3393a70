package refill

import (
	"context"

	"golang.org/x/sync/errgroup"

	"echosieve/consumer/tools"
	"echosieve/pipeline/record"
	"echosieve/redisindex/watch"
)

const (
	// partsAtOnce is the number of parts that are read at a time. Texts are processed on all cores anyway; more only
	// bridge the waits for Kafka and Redis.
	partsAtOnce  = 4
	batchRecords = 256
	batchBytes   = 4 << 20
)

// read calls work with the records of the parts, some consecutive ones of a partition at a time.
func read(ctx context.Context, archive *tools.Archive, parts []watch.Gap,
	work func(ctx context.Context, records []record.Record) error,
) error {
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(partsAtOnce)
	for _, part := range parts {
		reading.Go(func() error {
			var records []record.Record
			bytes := 0
			err := archive.Read(ctx, part.From, part.To, func(r *record.Record) error {
				records, bytes = append(records, *r), bytes+r.Size()
				if len(records) < batchRecords && bytes < batchBytes {
					return nil
				}
				err := work(ctx, records)
				records, bytes = nil, 0
				return err
			})
			if err == nil && len(records) > 0 {
				err = work(ctx, records)
			}
			return err
		})
	}
	return reading.Wait()
}
