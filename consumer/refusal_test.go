package consumer

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/consumer/broker"
	"echosieve/pipeline"
	"echosieve/pipeline/record"
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
			recs := kafkatest.Numbered(cfg.Topics.Inputs[0], "u", n, 1)
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
	kafkatest.Produce(t, kafkatest.Client(t, cfg), kafkatest.Numbered(cfg.Topics.Inputs[0], "u-first", 1, 1)...)
	m.start()
	if delivery == broker.AtLeastOnce {
		kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Dead}, kafkatest.AtLeast(1))
	} else {
		require.Eventually(t, func() bool { return m.value(t, alreadyAcknowledged) == 1 }, kafkatest.Patience,
			10*time.Millisecond)
	}
	kafkatest.Produce(t, kafkatest.Client(t, cfg), kafkatest.Numbered(cfg.Topics.Inputs[0], "u-other", 1, 1)...)
	out := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, kafkatest.AtLeast(2))
	m.stop(t)
	if delivery == broker.AtLeastOnce {
		require.Zero(t, m.value(t, alreadyAcknowledged))
	}
	require.Equal(t, []string{"u-first000000", "u-other000000"}, kafkatest.Values(out))
}
