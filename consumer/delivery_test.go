package consumer

import (
	"context"
	"testing"

	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/internal/base/diag"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refuseTransactionalIDs makes brokers behave as if the right on transactional ids were missing.
func refuseTransactionalIDs(k *kfake.Cluster) {
	k.ControlKey(int16(kmsg.InitProducerID), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		init := req.(*kmsg.InitProducerIDRequest)
		if init.TransactionalID == nil {
			return nil, nil, false
		}
		res := init.ResponseKind().(*kmsg.InitProducerIDResponse)
		res.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		return res, nil, true
	})
}

func TestWithoutTheRightDeliveryIsAtLeastOnce(t *testing.T) {
	k, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	refuseTransactionalIDs(k)
	kafkatest.Produce(t, kafkatest.Client(t, cfg), kafkatest.Numbered(cfg.Topics.Input, "u", 30, 3)...)
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

func TestExactlyOnceByNameNeedsTheRight(t *testing.T) {
	k, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	refuseTransactionalIDs(k)
	cfg.Delivery = broker.ExactlyOnce
	c, err := New(cfg, &router{}, nil, kafkatest.Log(t), (&health{}).report)
	require.NoError(t, err)
	require.ErrorContains(t, c.Run(t.Context()), "kafka.delivery")

	findings := tools.Check(context.Background(), cfg)
	require.Equal(t, diag.Failure, findings[len(findings)-1].Severity)
}
