package broker

import (
	"math"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// An operator creates the input topic moments before the first start, and the broker that is asked has not heard of it:
// the output topics get the limits of the input all the same.
func TestSettingsOfATopicThatIsNew(t *testing.T) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(fake.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	admin, far := kadm.NewClient(client), "9223372036854775807"
	cfg := DefaultConfig()
	cfg.Brokers, cfg.Partitions, cfg.Replication = fake.ListenAddrs(), 1, 1
	_, err = admin.CreateTopic(t.Context(), 1, 1, map[string]*string{FutureLimit: &far}, cfg.Topics.Input)
	require.NoError(t, err)
	asked := 0
	fake.ControlKey(int16(kmsg.DescribeConfigs), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if asked++; asked > 2 {
			return nil, nil, false
		}
		res := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, r := range req.(*kmsg.DescribeConfigsRequest).Resources {
			unknown := kmsg.NewDescribeConfigsResponseResource()
			unknown.ResourceType, unknown.ResourceName = r.ResourceType, r.ResourceName
			unknown.ErrorCode = int16(kafka.UnknownTopicOrPartition)
			res.Resources = append(res.Resources, unknown)
		}
		return res, nil, true
	})
	c, err := New(cfg, cfg.Topics.All()...)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.EnsureTopics(t.Context(), cfg.Topics.All())
	require.NoError(t, err)
	require.Equal(t, 3, asked)
	made, err := c.WaitForSettings(t.Context(), cfg.Topics.All()[1:]...)
	require.NoError(t, err)
	for name, s := range made {
		require.Equal(t, far, s[FutureLimit], name)
	}
	require.Len(t, made, 3)
}

func TestRetention(t *testing.T) {
	require.Equal(t, time.Hour, TopicSettings{CleanupPolicy: "delete", retentionTime: "3600000"}.Retention())
	require.Equal(t, time.Duration(math.MaxInt64),
		TopicSettings{CleanupPolicy: "delete", retentionTime: "-1"}.Retention())
	require.Equal(t, time.Duration(math.MaxInt64),
		TopicSettings{CleanupPolicy: "compact", retentionTime: "3600000"}.Retention())
}
