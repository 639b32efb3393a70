// Package kafkatest has what the tests of consumer and of the packages below it share: brokers in the process or real
// ones, records, other clients, and connections that lose requests.
package kafkatest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/test/kafkaserver"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Patience bounds each wait for a fact.
var Patience = kafkaserver.Patience

// Config returns settings with short intervals: members notice changes and commit quickly. Its timeouts
// are long: on a busy machine no member loses its partitions, and drains end with a commit.
func Config(brokers ...string) broker.Config {
	cfg := broker.DefaultConfig()
	cfg.Brokers = brokers
	cfg.CreateTopics = true
	cfg.Partitions = 3
	cfg.Replication = 1
	cfg.FetchMaxWait = 100 * time.Millisecond
	cfg.CommitInterval = 100 * time.Millisecond
	cfg.SessionTimeout = 30 * time.Second
	cfg.DrainTimeout = 15 * time.Second
	return cfg
}

// Log shows a test's log lines, of every level.
func Log(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Fake starts a cluster in this process, and returns settings for it.
func Fake(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, broker.Config) {
	t.Helper()
	opts = append([]kfake.Opt{kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second)}, opts...)
	c, err := kfake.NewCluster(opts...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, Config(c.ListenAddrs()...)
}

// Client returns another client. Who uses it names the partition of each record.
func Client(t *testing.T, cfg broker.Config, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return kafkaserver.Client(t, strings.Join(cfg.Brokers, ","), append([]kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.ProducerBatchMaxBytes(8 << 20),
	}, opts...)...)
}

// Produce returns when the records are acknowledged.
func Produce(t *testing.T, cl *kgo.Client, recs ...*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	require.NoError(t, cl.ProduceSync(ctx, recs...).FirstErr())
}

// Numbered returns n records "<prefix><i>" spread over the partitions.
func Numbered(topic, prefix string, n, partitions int) []*kgo.Record {
	recs := make([]*kgo.Record, n)
	for i := range recs {
		recs[i] = &kgo.Record{
			Topic: topic, Partition: int32(i % partitions),
			Value: fmt.Appendf(nil, "%s%06d", prefix, i),
		}
	}
	return recs
}

// ConsumeUntil reads topics from the start until enough returns true.
func ConsumeUntil(t *testing.T, cfg broker.Config, topics []string, enough func(all []*kgo.Record) bool) []*kgo.Record {
	t.Helper()
	return kafkaserver.Read(t, strings.Join(cfg.Brokers, ","), topics, enough)
}

// AtLeast is enough for ConsumeUntil: so many records.
var AtLeast = kafkaserver.AtLeast

// Header returns the value of a header, or "".
func Header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// BySource maps coordinates of an input record to the outputs made of it.
func BySource(recs []*kgo.Record) map[string][]*kgo.Record {
	m := make(map[string][]*kgo.Record)
	for _, r := range recs {
		m[Header(r, pipeline.HeaderInput)] = append(m[Header(r, pipeline.HeaderInput)], r)
	}
	return m
}

// Filled creates the topics of the settings, and produces n records "<prefix><i>" to the input topic. It returns its
// client.
func Filled(t *testing.T, cfg broker.Config, prefix string, n int) *kgo.Client {
	t.Helper()
	EnsureTopics(t, cfg)
	cl := Client(t, cfg)
	Produce(t, cl, Numbered(cfg.Topics.Inputs[0], prefix, n, cfg.Partitions)...)
	return cl
}

// EnsureTopics creates the topics of the settings.
func EnsureTopics(t *testing.T, cfg broker.Config) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	_, err := Cluster(t, cfg).EnsureTopics(ctx, cfg.Topics.All())
	require.NoError(t, err)
}

// Cluster reaches brokers as the service does. It ends with the test.
func Cluster(t *testing.T, cfg broker.Config) *broker.Cluster {
	t.Helper()
	c, err := broker.New(cfg, cfg.Topics.All()...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// Committed returns the sum of the group's offsets.
func Committed(t *testing.T, cl *kgo.Client, cfg broker.Config) int64 {
	t.Helper()
	n, err := AskCommitted(cl, cfg)
	require.NoError(t, err)
	return n
}

// AskCommitted is committed for callers that retry: brokers answer with an error while the group has no
// coordinator yet.
func AskCommitted(cl *kgo.Client, cfg broker.Config) (n int64, err error) {
	offsets, err := kadm.NewClient(cl).FetchOffsets(context.Background(), cfg.Group)
	if err == nil {
		err = offsets.Error()
	}
	offsets.Each(func(o kadm.OffsetResponse) { n += max(o.At, 0) })
	return n, err
}

// Output is an output of an input record of partition 0, to the unique topic.
func Output(cfg broker.Config, offset int64, at time.Time) *pipeline.Output {
	r := &record.Record{Value: []byte("v"), Time: at}
	r.Topic, r.Offset = cfg.Topics.Inputs[0], offset
	out := pipeline.NewOutput(r, article.ToUnique)
	out.Headers = []record.Header{{Key: pipeline.HeaderInput, Value: []byte(r.String())}}
	return &out
}

// Values returns the values of the records.
func Values(recs []*kgo.Record) (all []string) {
	for _, r := range recs {
		all = append(all, string(r.Value))
	}
	return all
}

// ProduceError is the answer that refuses all of a request with a code.
func ProduceError(req kmsg.Request, code kafka.Error) kmsg.Response {
	res := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, rt := range req.(*kmsg.ProduceRequest).Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic = rt.Topic
		p := kmsg.NewProduceResponseTopicPartition()
		p.Partition, p.ErrorCode = rt.Partitions[0].Partition, int16(code)
		topic.Partitions = append(topic.Partitions, p)
		res.Topics = append(res.Topics, topic)
	}
	return res
}
