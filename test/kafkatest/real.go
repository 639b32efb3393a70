package kafkatest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/consumer/broker"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
)

// OnVersions runs a test on a broker of each version. The one before the present runs only with make test-all.
func OnVersions(t *testing.T, start func(t testing.TB, version string) *kafkaserver.Server,
	run func(t *testing.T, s *kafkaserver.Server),
) {
	t.Run(kafkaserver.V4, func(t *testing.T) { run(t, start(t, kafkaserver.V4)) })
	t.Run(kafkaserver.V3, func(t *testing.T) {
		host.All(t)
		run(t, start(t, kafkaserver.V3))
	})
}

// SharedOr is the shared broker if it has the version, else a broker of its own.
func SharedOr(t testing.TB, version string) *kafkaserver.Server {
	if version == kafkaserver.V4 {
		return kafkaserver.Shared(t)
	}
	return kafkaserver.Start(t, version)
}

// RealConfig uses topics and a group of the name.
func RealConfig(s *kafkaserver.Server, name string) broker.Config {
	cfg := Config(strings.Split(s.Addr, ",")...)
	name = fmt.Sprintf("%s-%d", name, time.Now().UnixNano())
	cfg.Topics = broker.Topics{
		Inputs:    []string{name},
		Unique:    name + "-unique",
		Duplicate: name + "-duplicate",
		Dead:      name + "-dead",
	}
	cfg.Group = name
	return cfg
}

// OutTopics returns the output topics.
func OutTopics(t broker.Topics) []string { return []string{t.Unique, t.Duplicate, t.Dead} }

// ends returns the sum of the end offsets of the input topics.
func ends(t *testing.T, cfg broker.Config) int64 {
	t.Helper()
	c, n := Cluster(t, cfg), int64(0)
	for _, topic := range cfg.Topics.Inputs {
		for p := range int32(cfg.Partitions) {
			_, last, err := c.Partition(topic, p).Offsets(context.Background())
			require.NoError(t, err)
			n += last
		}
	}
	return n
}

// EventuallyCommitted waits until all offsets of the input topics are committed, offsets of transaction markers too.
func EventuallyCommitted(t *testing.T, cfg broker.Config) {
	t.Helper()
	cl := Client(t, cfg)
	want := ends(t, cfg)
	require.Eventually(t, func() bool {
		n, err := AskCommitted(cl, cfg)
		return err == nil && n == want
	}, Patience, 100*time.Millisecond, "committed offsets reach the end of the log")
}

// AddPartitions gives a topic n partitions.
func AddPartitions(t *testing.T, cfg broker.Config, topic string, n int32) {
	t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	more := kmsg.NewCreatePartitionsRequestTopic()
	more.Topic, more.Count = topic, n
	req.Topics, req.TimeoutMillis = append(req.Topics, more), 10_000
	res, err := req.RequestWith(t.Context(), Client(t, cfg))
	require.NoError(t, err)
	require.Zero(t, res.Topics[0].ErrorCode)
}

// SetLimit changes a setting of topics, and waits until the broker shows the change.
func SetLimit(t *testing.T, cfg broker.Config, name, value string, topics ...string) {
	t.Helper()
	admin := kadm.NewClient(Client(t, cfg))
	_, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: name, Value: &value}}, topics...)
	require.NoError(t, err)
	c := Cluster(t, cfg)
	require.Eventually(t, func() bool {
		all, err := broker.ReadSettings(context.Background(), c, topics...)
		for _, s := range all {
			if s[name] != value {
				return false
			}
		}
		return err == nil
	}, Patience, 50*time.Millisecond)
}
