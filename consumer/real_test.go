package consumer

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/pipeline/article"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMain(m *testing.M) { os.Exit(kafkaserver.Main(m)) }

// TestRealKafka runs the tests that an in-process broker cannot answer.
func TestRealKafka(t *testing.T) {
	t.Parallel()
	kafkatest.OnVersions(t, kafkatest.SharedOr, func(t *testing.T, s *kafkaserver.Server) {
		for name, test := range map[string]func(*testing.T, broker.Config){
			"codecs": realCodecs, "recreated": realRecreated, "stale commit": realStaleCommit, "lost verdicts": realLostVerdicts,
			"late commit": realLateCommit, "mixed delivery": realMixedDelivery, "recreated output": realRecreatedOutput,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // they mostly wait
				test(t, kafkatest.RealConfig(s, strings.ReplaceAll(name, " ", "-")))
			})
		}
	})
}

// codecs are the values of kafka.compression.
var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// compressions are the same codecs of the other client.
var compressions = []kgo.CompressionCodec{
	kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
}

func realCodecs(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	var in []*kgo.Record
	for i, codec := range compressions {
		cl := kafkatest.Client(t, cfg, kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(10*time.Millisecond))
		recs := kafkatest.Numbered(cfg.Topics.Input, fmt.Sprintf("%c%s %s", "udx"[i%3], codecs[i],
			strings.Repeat("words ", 100)), 300, 3)
		recs[0].Key, recs[1].Key = []byte{}, []byte("key")
		recs[2].Headers = []kgo.RecordHeader{
			{Key: "nil"},
			{Key: "empty", Value: []byte{}},
			{Key: "", Value: []byte("v")},
		}
		recs[3].Timestamp = time.UnixMilli(0)
		kafkatest.Produce(t, cl, recs...)
		in = append(in, recs...)
	}
	for i, codec := range codecs {
		group := cfg
		group.Compression, group.Group = codec, fmt.Sprint(cfg.Group, codec)
		m := startMember(t, group, &router{})
		out := kafkatest.ConsumeUntil(t, cfg, kafkatest.OutTopics(cfg.Topics), kafkatest.AtLeast((i+1)*len(in)))
		m.stop(t)
		copies := kafkatest.BySource(out)
		for _, want := range in {
			got := copies[article.Coordinates{
				Topic: want.Topic, Partition: want.Partition,
				Offset: want.Offset,
			}.String()]
			require.Len(t, got, i+1, "published with %s", codec)
			last := got[len(got)-1]
			require.Equal(t, want.Key, last.Key)
			require.Equal(t, want.Value, last.Value)
			require.Equal(t, want.Timestamp.UnixMilli(), last.Timestamp.UnixMilli())
			require.True(t, slices.EqualFunc(want.Headers, last.Headers[:len(last.Headers)-1],
				func(a, b kgo.RecordHeader) bool {
					return a.Key == b.Key && string(a.Value) == string(b.Value) && (a.Value == nil) == (b.Value == nil)
				}))
		}
	}
}
