package consumer

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/consumer/broker"
	"echosieve/pipeline"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

// A topic that refuses some records permanently, whatever the reason, stops neither these records nor the others.
func TestRefusedRecordsBecomeDeadLetters(t *testing.T) {
	for _, c := range []struct {
		code   kafka.Error
		reason record.RejectReason
	}{
		{kafka.InvalidTimestamp, record.Timestamp},
		{kafka.MessageSizeTooLarge, record.TooLarge},
		{kafka.RecordListTooLarge, record.TooLarge},
		{kafka.InvalidRecord, record.Refused},
	} {
		t.Run(c.code.Title(), func(t *testing.T) {
			k, cfg := kafkatest.Fake(t)
			cfg.Partitions, cfg.Compression = 1, "none"
			kafkatest.EnsureTopics(t, cfg)
			const n = 300
			recs := kafkatest.Numbered(cfg.Topics.Input, "u", n, 1)
			var bad []string
			for i := range recs {
				if i%97 == 5 || i == n-1 {
					recs[i].Value = append(recs[i].Value, " poison"...)
					bad = append(bad, string(recs[i].Value))
				}
			}
			kafkatest.Produce(t, kafkatest.Client(t, cfg), recs...)
			var deadRefused atomic.Int64
			k.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
				k.KeepControl()
				topic := req.(*kmsg.ProduceRequest).Topics[0]
				if !bytes.Contains(topic.Partitions[0].Records, []byte("poison")) {
					return nil, nil, false
				}
				// refuses the record, too, and takes the smallest form of the dead letter
				if topic.Topic == cfg.Topics.Dead {
					deadRefused.Add(1)
				}
				return kafkatest.ProduceError(req, c.code), nil, true
			})
			m := startMember(t, cfg, &router{})
			out := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, kafkatest.AtLeast(n-len(bad)))
			dead := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Dead}, kafkatest.AtLeast(len(bad)))
			kafkatest.EventuallyCommitted(t, cfg)
			m.stop(t)
			require.Len(t, out, n-len(bad))
			for i := 1; i < len(out); i++ {
				require.Less(t, string(out[i-1].Value), string(out[i].Value), "in order")
			}
			require.Len(t, dead, len(bad))
			for _, r := range dead {
				require.Equal(t, string(c.reason), kafkatest.Header(r, pipeline.HeaderReason))
				require.Equal(t, kafkatest.Header(r, pipeline.HeaderInput), string(r.Key))
			}
			require.Positive(t, deadRefused.Load(), "the dead topic refused, too")
			require.NoError(t, m.health.last())
		})
	}
}

// alreadyAcknowledged counts the records that a take-over has found in the outputs.
const alreadyAcknowledged = "echosieve_consumer_already_acknowledged_records_total"

// The acknowledgement of a record is lost, and its retry is refused. The next record has as many bytes and
// records: the broker must not take it for a repeat of the first.
func TestRecordAfterARefusalIsNoRepeat(t *testing.T) {
	for _, delivery := range []string{broker.AtLeastOnce, broker.ExactlyOnce} {
		t.Run(delivery, func(t *testing.T) { recordAfterARefusalIsNoRepeat(t, delivery) })
	}
}

// recordAfterARefusalIsNoRepeat loses the acknowledgement of a record and refuses its retry. At least once
// makes a dead letter of it, too. Exactly once reads that it is published.
func recordAfterARefusalIsNoRepeat(t *testing.T, delivery string) {
	k, cfg := kafkatest.Fake(t)
	cfg.Delivery = delivery
	cfg.Partitions = 1
	kafkatest.EnsureTopics(t, cfg)
	m := newMember(t, cfg, &router{})
	f := &kafkatest.Faults{Key: int16(kmsg.Produce), Choose: func(n int64) kafkatest.Fault {
		if n == 1 {
			return kafkatest.LoseAnswer
		}
		return kafkatest.Pass
	}}
	f.Into(m.cluster)
	var requests atomic.Int64
	k.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if req.(*kmsg.ProduceRequest).Topics[0].Topic == cfg.Topics.Unique && requests.Add(1) == 2 {
			return kafkatest.ProduceError(req, kafka.InvalidTimestamp), nil, true
		}
		return nil, nil, false
	})
	kafkatest.Produce(t, kafkatest.Client(t, cfg), kafkatest.Numbered(cfg.Topics.Input, "u-first", 1, 1)...)
	m.start()
	if delivery == broker.AtLeastOnce {
		kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Dead}, kafkatest.AtLeast(1))
	} else {
		require.Eventually(t, func() bool { return m.value(t, alreadyAcknowledged) == 1 }, kafkatest.Patience,
			10*time.Millisecond)
	}
	kafkatest.Produce(t, kafkatest.Client(t, cfg), kafkatest.Numbered(cfg.Topics.Input, "u-other", 1, 1)...)
	out := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, kafkatest.AtLeast(2))
	m.stop(t)
	if delivery == broker.AtLeastOnce {
		require.Zero(t, m.value(t, alreadyAcknowledged))
	}
	require.Equal(t, []string{"u-first000000", "u-other000000"}, kafkatest.Values(out))
}

// realPipeline is the service's handler with an index in memory.
func realPipeline(t *testing.T, cfg broker.Config) *pipeline.Pipeline {
	t.Helper()
	made, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	index := memindex.New(memindex.Config{
		Window: 24 * time.Hour, Generations: 2,
		Search: recipe.DefaultConfig().Search(),
	})
	stages, err := pipeline.New(pipeline.Config{
		Decode:          decode.DefaultConfig(),
		MaxMessageBytes: cfg.MaxMessageBytes,
	}, made, index, nil)
	require.NoError(t, err)
	return stages
}

// limitedText is a long article; a suffix makes a near copy.
const limitedText = "The harbour board voted on Monday to deepen the eastern channel so that larger grain ships " +
	"can reach the silos before the autumn " +
	"harvest, ending a dispute that had lasted eleven years. Dredgers from Holt Marine will begin in April, said " +
	"Anna Velde, who chairs the " +
	"board, and remove 140,000 cubic metres of silt."

func limitedArticle(cfg broker.Config, at time.Time, suffix string) *kgo.Record {
	return &kgo.Record{
		Topic: cfg.Topics.Input, Key: []byte("k"), Timestamp: at,
		Value: fmt.Appendf(nil, `{"text":%q}`, limitedText+suffix),
	}
}

// realTimestampLimits: topics that we create take every timestamp that the input takes. Where a topic takes
// fewer, the record becomes a dead letter before it is claimed, so later articles are not copies of it.
func realTimestampLimits(t *testing.T, cfg broker.Config) {
	cfg.Partitions = 1
	far, future := "9223372036854775807", time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	kafkaserver.CreateTopics(t, kafkatest.Client(t, cfg), 1, map[string]*string{broker.FutureLimit: &far},
		cfg.Topics.Input)
	kafkatest.EnsureTopics(t, cfg)
	kafkatest.Produce(t, kafkatest.Client(t, cfg), limitedArticle(cfg, future, ""))
	m := startMember(t, cfg, realPipeline(t, cfg))
	first := kafkatest.ConsumeUntil(t, cfg, kafkatest.OutTopics(cfg.Topics), kafkatest.AtLeast(1))
	require.Equal(t, cfg.Topics.Unique, first[0].Topic, "%v", first[0].Headers)
	require.Equal(t, future.UnixMilli(), first[0].Timestamp.UnixMilli(), "created topics take what the input takes")
	m.stop(t)

	hour := time.Hour.Milliseconds()
	kafkatest.SetLimit(t, cfg, broker.FutureLimit, fmt.Sprint(hour), kafkatest.OutTopics(cfg.Topics)...)
	kafkatest.SetLimit(t, cfg, broker.PastLimit, fmt.Sprint(hour), cfg.Topics.Unique, cfg.Topics.Duplicate)
	now := time.Now()
	kafkatest.Produce(t, kafkatest.Client(t, cfg),
		limitedArticle(cfg, future.Add(time.Minute), " Fishermen had feared for the oyster beds."),
		&kgo.Record{Topic: cfg.Topics.Input, Timestamp: future, Value: []byte("no JSON")},
		limitedArticle(cfg, now.Add(-2*time.Hour), " Nobody was hurt."),
		limitedArticle(cfg, now, ""),
		limitedArticle(cfg, now.Add(time.Second), " Tugs will help."))
	m = startMember(t, cfg, realPipeline(t, cfg))
	dead := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Dead}, kafkatest.AtLeast(3))
	kafkatest.EventuallyCommitted(t, cfg)
	m.stop(t)
	for i, reason := range []record.RejectReason{record.Timestamp, record.NotJSON, record.Timestamp} {
		require.Equal(t, string(reason), kafkatest.Header(dead[i], pipeline.HeaderReason))
		require.WithinDuration(t, time.Now(), dead[i].Timestamp, time.Hour)
		require.NotEmpty(t, kafkatest.Header(dead[i], pipeline.HeaderTime))
	}
	require.Equal(t, "2099-01-01T00:01:00.000Z", kafkatest.Header(dead[0], pipeline.HeaderTime))
	unique := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, kafkatest.AtLeast(2))
	copies := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Duplicate}, kafkatest.AtLeast(1))
	require.Equal(t, cfg.Topics.Input+"/0/4", kafkatest.Header(unique[1], pipeline.HeaderInput),
		"no copy of an article that was not published")
	require.Equal(t, cfg.Topics.Input+"/0/4", kafkatest.Header(copies[0], pipeline.HeaderOriginal))
	require.Zero(t, m.value(t, "echosieve_consumer_errors_total"), "no topic refused anything")
}
