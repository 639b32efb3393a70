package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
)

const (
	bombRecords     = 1000
	bombRecordBytes = 100 << 10 // of each record in a batch of bombRecords
	bombBytes       = 300 << 20 // of the single record
	// bombResident bounds the peak memory of a service with default limits. It must hold one whole block of
	// snappy, which cannot be decoded in parts.
	bombResident = 1 << 30
)

// Record batches that are small on the wire and too large for memory lie between ordinary articles. A record
// that is too large by itself becomes a dead letter without its value. All other records are decided as
// usual.
func TestBombs(t *testing.T) {
	s := newStage(t, 5)
	s.createTopics(t)
	many := dead("one of many in a batch", "not_json", strings.Repeat("bomb ", bombRecordBytes/5))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// Package wire reads every codec by the same steps. These two differ most: one cannot be decoded in
	// parts, one has a window.
	bombs := []string{"snappy", "zstd"}
	for _, c := range codecs {
		if !slices.Contains(bombs, c.name) {
			continue
		}
		cl := kafkaserver.Client(t, s.kafka, kgo.DefaultProduceTopic(s.input), kgo.ProducerBatchCompression(c.codec),
			kgo.ProducerBatchMaxBytes(1<<29), kgo.BrokerMaxWriteBytes(1<<30), kgo.ProducerLinger(time.Minute))
		send := func(r record, n int) {
			var batch []*kgo.Record
			for range n {
				in := &kgo.Record{Key: []byte(c.name), Value: r.value, Timestamp: time.Now(),
					Headers: []kgo.RecordHeader{{Key: "crawler", Value: []byte("kept")}}}
				r.headers = in.Headers
				batch = append(batch, in)
				s.sent = append(s.sent, sent{r, in})
			}
			results := make(chan error, n)
			for _, in := range batch { // nothing is sent before Flush, so the records become one batch
				cl.Produce(ctx, in, func(_ *kgo.Record, err error) { results <- err })
			}
			require.NoError(t, cl.Flush(ctx))
			for range n {
				require.NoError(t, <-results, c.name)
			}
		}
		ordinary := func() record {
			return unique("ordinary article with "+c.name, text(strings.Join(words(s.random, 60, latin), " ")))
		}
		send(ordinary(), 1)
		send(many, bombRecords)
		send(ordinary(), 1)
		size := bombBytes
		if c.name == "snappy" { // the broker must hold the one block in memory, too
			size /= 3
		}
		send(dead("one far too large", "too_large", strings.Repeat("bomb ", size/5)), 1)
		send(ordinary(), 1)
		cl.Close()
	}

	p := s.start(t, "small", nil)
	start := time.Now()
	outs, again := s.watch(t, "small")
	require.Empty(t, again, "was delivered twice although no process ended")
	t.Logf("%d records in %s, peak %d MiB resident", len(outs), time.Since(start).Round(time.Second), p.peak(t)>>20)
	require.Less(t, p.peak(t), bombResident)
	for i, out := range outs {
		in := s.sent[i]
		if in.reason == "too_large" {
			require.Equal(t, strconv.Itoa(len(in.value)), ledger.Headers(out)[pipeline.HeaderValueOmitted])
			require.Nil(t, out.Value)
			in.value = nil // everything else of the record must be unchanged
		}
		s.check(t, in, out, in.verdict, in.reason)
	}
	require.Equal(t, float64(len(bombs)),
		p.Metric(t, `echosieve_pipeline_records_total{reason="too_large",verdict="dead"}`))
}

const (
	valuePartitions = 12
	valueResident   = 400 << 20 // bounds the peak memory of a service with default limits, in bytes
)

// Values of a few bytes that decompress to megabytes do not end the service, and ordinary articles beside them are
// decided.
func TestCompressedValues(t *testing.T) {
	s := newStage(t, 3)
	client := kafkaserver.Client(t, s.kafka, kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerLinger(time.Minute))
	send := func(partition int32, n int, value []byte) { // one record batch of equal values
		for range n {
			client.Produce(context.Background(), &kgo.Record{Topic: s.input, Partition: partition, Value: value}, nil)
		}
		require.NoError(t, client.Flush(t.Context()))
	}
	kafkaserver.CreateTopics(t, client, valuePartitions, nil, s.input)
	s.createOutputs(t, "small", nil)
	for i, title := range []int{4 << 20, 1<<20 - 1<<10} { // the first ones are too large
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		require.NoError(t, json.NewEncoder(w).Encode(map[string]string{
			"text": "A text of few words in partition " + strconv.Itoa(i), "title": strings.Repeat("a", title),
		}))
		require.NoError(t, w.Close())
		send(int32(i), 256, packed.Bytes())
	}
	p := s.start(t, "small", nil)
	for i := range int32(valuePartitions) { // behind all that stands there
		send(i, 1, text(fmt.Sprintf("The harbour of town %d was closed on Monday because of a storm from the west.", i)))
	}
	seen, read := 0, 0
	kafkaserver.Read(t, s.kafka, []string{s.topic("small", "unique"), s.topic("small", "duplicate")},
		func(all []*kgo.Record) bool {
			for ; read < len(all); read++ {
				if bytes.Contains(all[read].Value, []byte("harbour")) {
					seen++
				}
			}
			return seen == valuePartitions
		})
	require.Less(t, p.PeakMemory(), int64(valueResident))
}
