package consumer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/internal/diag"
	"echosieve/pipeline"
	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"
)

func TestWithoutTheRightDeliveryIsAtLeastOnce(t *testing.T) {
	k, cfg := kafkatest.Fake(t)
	kafkatest.Filled(t, cfg, "u", 30)
	refuseProducerIDs(k, kafka.TransactionalIDAuthorizationFailed)
	m := newMember(t, cfg, &router{})
	warnings := map[string]string{}
	m.WarnWith(func(kind, text string) { warnings[kind] = text })
	m.start()
	kafkatest.ConsumeUntil(t, cfg, outputs, kafkatest.AtLeast(30))
	require.Zero(t, m.value(t, "echosieve_consumer_exactly_once"))
	m.stop(t)
	require.Contains(t, warnings["delivery"], "grant Write on the transactional ids with the prefix "+cfg.Group)
	require.NoError(t, m.health.last())

	findings := tools.Check(context.Background(), cfg)
	last := findings[len(findings)-1]
	require.Equal(t, "delivery", last.Subject)
	require.Equal(t, diag.Warning, last.Severity)
	require.Contains(t, last.Remedy, cfg.Group)
}

// Where brokers refuse what is needed, the process ends with the remedy, and check says so.
func TestDeliveryNeedsRights(t *testing.T) {
	for name, is := range map[string]struct {
		delivery string
		refused  kafka.Error
		remedy   string
	}{
		"exactly once by name":    {broker.ExactlyOnce, kafka.TransactionalIDAuthorizationFailed, "transactional ids"},
		"no number for any batch": {"", kafka.ClusterAuthorizationFailed, "IdempotentWrite"},
	} {
		t.Run(name, func(t *testing.T) {
			k, cfg := kafkatest.Fake(t)
			kafkatest.EnsureTopics(t, cfg)
			refuseProducerIDs(k, is.refused)
			cfg.Delivery = is.delivery
			c, err := New(cfg, &router{}, nil, kafkatest.Log(t), (&health{}).report)
			require.NoError(t, err)
			err = c.Run(t.Context())
			require.ErrorContains(t, err, "kafka.delivery")
			require.ErrorContains(t, err, is.remedy)

			findings := tools.Check(context.Background(), cfg)
			last := findings[len(findings)-1]
			require.Equal(t, diag.Failure, last.Severity)
			require.Contains(t, last.Remedy, is.remedy)
		})
	}
}

// refuseProducerIDs makes brokers behave as if a right were missing: that on transactional ids, or that on the cluster.
func refuseProducerIDs(k *kfake.Cluster, code kafka.Error) {
	k.ControlKey(int16(kmsg.InitProducerID), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if code == kafka.TransactionalIDAuthorizationFailed && req.(*kmsg.InitProducerIDRequest).TransactionalID == nil {
			return nil, nil, false
		}
		res := req.ResponseKind().(*kmsg.InitProducerIDResponse)
		res.ErrorCode = int16(code)
		return res, nil, true
	})
}

// Acknowledgements are lost, and requests that the client has given up are late: they reach the broker before
// their retry, or many batches later.
func TestRetriesRepeatNothing(t *testing.T) {
	for name, what := range map[string]kafkatest.Fault{
		"answer lost": kafkatest.LoseAnswer, "request held": kafkatest.Hold,
	} {
		t.Run(name, func(t *testing.T) {
			_, cfg := kafkatest.Fake(t)
			cfg.MaxMessageBytes = 2048 // many small requests
			cfg.Partitions = 2
			cfg.SessionTimeout = 30 * time.Second // no redelivery
			const n = 2000
			kafkatest.Filled(t, cfg, "u", n)
			f := &kafkatest.Faults{Key: int16(kmsg.Produce), Choose: func(n int64) kafkatest.Fault {
				return map[bool]kafkatest.Fault{true: what}[n%5 == 3]
			}}
			m := newMember(t, cfg, &router{})
			f.Into(m.cluster)
			m.start()
			late := 0
			require.Eventually(t, func() bool {
				late += f.Release(t)
				return m.value(t, "echosieve_consumer_acknowledged_records_total") == n
			}, kafkatest.Patience, 5*time.Millisecond)
			late += f.Release(t)
			require.Greater(t, m.value(t, "echosieve_consumer_retries_total"), 3.0, "the fault fired")
			require.Equal(t, what == kafkatest.Hold, late > 3, "requests came late")
			require.Equal(t, 1.0, m.value(t, "echosieve_consumer_rebalances_total"))
			m.stop(t)
			kafkatest.Produce(t, kafkatest.Client(t, cfg), &kgo.Record{Topic: cfg.Topics.Unique, Value: []byte("end")},
				&kgo.Record{Topic: cfg.Topics.Unique, Partition: 1, Value: []byte("end")})
			out := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, func(all []*kgo.Record) bool {
				return len(slices.DeleteFunc(kafkatest.Values(all), func(v string) bool { return v != "end" })) == 2
			})
			next := []int{0, 1}
			for _, r := range out {
				if string(r.Value) != "end" {
					require.Equal(t, fmt.Sprintf("u%06d", next[r.Partition]), string(r.Value))
					next[r.Partition] += 2
				}
			}
			require.Equal(t, []int{n, n + 1}, next)
		})
	}
}

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
