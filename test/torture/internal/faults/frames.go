package faults

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/record"
	"echosieve/test/frames"
	"echosieve/test/torture/internal/rig"
)

const (
	// frameBytes is the size of the value that makes a frame hostile. The decompressor needs the largest window for it.
	frameBytes = frames.Window * 3 / 4
	// frameArticles is the number of articles in a frame behind that value: more than a batch of the service,
	// so that the decompressor stays open while the service decides the first ones. The frame does not
	// compress them: together they must stay below 1 MiB.
	frameArticles = 300
)

// hostileFrames publishes a frame to each partition that takes as much memory to decompress as brokers
// accept. Its articles are articles like all others.
func hostileFrames(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(r.KafkaAddrs...), kgo.DefaultProduceTopic(r.Topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.WithCompressor(frames.Zstd{}), kgo.ProducerBatchMaxBytes(1<<29), kgo.BrokerMaxWriteBytes(1<<30),
		kgo.ProducerLinger(time.Minute), kgo.AlwaysRetryEOF())
	if err != nil {
		return "", err
	}
	defer client.Close()
	value := bytes.Repeat([]byte("x"), frameBytes)
	seed := random.Uint64()
	written := r.NewWriter(seed, fmt.Sprintf("f%d-", seed), false)
	var records []*kgo.Record
	for p := range int32(r.Partitions) {
		key := fmt.Sprintf("frame-%d-%d", seed, p)
		written.Reasons[key] = record.TooLarge
		frame := []*kgo.Record{{Key: []byte(key), Value: value}}
		for range frameArticles {
			frame = slices.Concat(frame, written.Write())
		}
		for _, record := range frame {
			record.Partition = p
		}
		records = append(records, frame...)
	}
	acknowledged := make(chan error, len(records))
	for _, record := range records { // nothing is sent before Flush, so the records of a partition become one batch
		client.Produce(ctx, record, func(_ *kgo.Record, err error) { acknowledged <- err })
	}
	if err := client.Flush(ctx); err != nil {
		return "", err
	}
	for range records {
		if err := <-acknowledged; err != nil {
			return "", err
		}
	}
	r.Wrote(written, len(records))
	return fmt.Sprintf("%d frames of %d MiB and %d articles are stored", r.Partitions, frameBytes>>20, frameArticles),
		nil
}
