package broker

import (
	"math"
	"testing"
	"time"

	"echosieve/test/kafkaserver"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// An operator creates the input topic moments before the first start, and the broker that is asked has not heard of it:
// the output topics get the limits of the input all the same.
func TestSettingsOfATopicThatIsNew(t *testing.T) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(fake.Close)
	admin, far := kadm.NewClient(kafkaserver.Client(t, fake.ListenAddrs()[0])), "9223372036854775807"
	cfg := DefaultConfig()
	cfg.Brokers, cfg.Partitions, cfg.Replication = fake.ListenAddrs(), 1, 1
	_, err = admin.CreateTopic(t.Context(), 1, 1, map[string]*string{FutureLimit: &far}, cfg.Topics.Inputs[0])
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
	made, err := WaitForSettings(t.Context(), c, cfg.Topics.All()[1:]...)
	require.NoError(t, err)
	for name, s := range made {
		require.Equal(t, far, s[FutureLimit], name)
	}
	require.Len(t, made, 3)
}

// The topic of snapshots is created with one partition, whatever kafka.partitions says: nobody waits for others.
func TestTopicOfSnapshots(t *testing.T) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(fake.Close)
	cfg := DefaultConfig()
	cfg.Brokers, cfg.Replication = fake.ListenAddrs(), 1
	cfg.Topics.Inputs, cfg.Topics.Shadow, cfg.Topics.SnapshotsFor = []string{"unique"}, "stories", time.Hour
	c, err := New(cfg, cfg.Topics.All()...)
	require.NoError(t, err)
	defer c.Close()
	created, err := c.EnsureTopics(t.Context(), cfg.Topics.All())
	require.NoError(t, err)
	require.Len(t, created, 2)
	created, err = c.CreateTopics(t.Context(), []string{"stories"}, false)
	require.NoError(t, err)
	require.Empty(t, created, "another process has created it meanwhile")
	n, err := c.Partitions(t.Context(), "stories")
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestRetention(t *testing.T) {
	require.Equal(t, time.Hour, TopicSettings{CleanupPolicy: "delete", retentionTime: "3600000"}.Retention())
	require.Equal(t, time.Duration(math.MaxInt64),
		TopicSettings{CleanupPolicy: "delete", retentionTime: "-1"}.Retention())
	require.Equal(t, time.Duration(math.MaxInt64),
		TopicSettings{CleanupPolicy: "compact", retentionTime: "3600000"}.Retention())
}

func TestValidateNamesTheKey(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())
	for key, spoil := range map[string]func(*Config){
		"kafka.brokers":          func(c *Config) { c.Brokers = nil },
		"kafka.group":            func(c *Config) { c.Group = "" },
		"kafka.topics.input":     func(c *Config) { c.Topics.Inputs = []string{""} },
		"kafka.topics.unique":    func(c *Config) { c.Topics.Unique = "" },
		"kafka.topics.duplicate": func(c *Config) { c.Topics.Duplicate = "" },
		"kafka.topics.dead":      func(c *Config) { c.Topics.Dead = "" },
		"kafka.topics.input and kafka.topics.dead have": func(c *Config) { c.Topics.Dead = c.Topics.Inputs[0] },
		"kafka.compression":                             func(c *Config) { c.Compression = "rar" },
		"kafka.tls has":                                 func(c *Config) { c.TLS.CAFile = "x" },
		"kafka.tls.cert_file":                           func(c *Config) { c.TLS.Enabled, c.TLS.CertFile = true, "x" },
		"kafka.sasl.mechanism":                          func(c *Config) { c.SASL.Mechanism = "kerberos" },
		"kafka.sasl has":                                func(c *Config) { c.SASL.Username = "x" },
		"kafka.sasl.username":                           func(c *Config) { c.SASL.Mechanism, c.SASL.Password = "plain", "x" },
		"kafka.sasl.password":                           func(c *Config) { c.SASL.Mechanism, c.SASL.Username = "plain", "x" },
		"kafka.sasl has settings of tokens":             func(c *Config) { c.SASL.Mechanism, c.SASL.Scopes = "plain", "x" },
		"oauthbearer needs":                             func(c *Config) { c.SASL = SASL{Mechanism: "oauthbearer"} },
		"and not both": func(c *Config) {
			c.SASL = SASL{Mechanism: "oauthbearer", TokenFile: "x", TokenURL: "https://x"}
		},
		"kafka.sasl.token_file": func(c *Config) {
			c.SASL = SASL{Mechanism: "oauthbearer", TokenFile: "x", Username: "x"}
		},
		"kafka.sasl.token_url": func(c *Config) {
			c.SASL = SASL{Mechanism: "oauthbearer", TokenURL: "http://idp.example/token", Username: "x", Password: "x"}
		},
		"kafka.sasl.extensions": func(c *Config) {
			c.SASL = SASL{Mechanism: "oauthbearer", TokenFile: "x", Extensions: "a=b,c"}
		},
	} {
		t.Run(key, func(t *testing.T) {
			c := DefaultConfig()
			spoil(&c)
			require.ErrorContains(t, c.Validate(), key)
		})
	}
}
