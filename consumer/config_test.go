package consumer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestValidateNamesTheKey(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())
	for key, spoil := range map[string]func(*Config){
		"kafka.brokers":               func(c *Config) { c.Brokers = nil },
		"kafka.group":                 func(c *Config) { c.Group = "" },
		"kafka.topics.input":          func(c *Config) { c.Topics.Input = "" },
		"kafka.topics.unique":         func(c *Config) { c.Topics.Unique = "" },
		"kafka.topics.duplicate":      func(c *Config) { c.Topics.Duplicate = "" },
		"kafka.topics.dead":           func(c *Config) { c.Topics.Dead = "" },
		"kafka.topics must":           func(c *Config) { c.Topics.Dead = c.Topics.Input },
		"kafka.partitions":            func(c *Config) { c.Partitions = 0 },
		"kafka.replication":           func(c *Config) { c.Replication = 0 },
		"kafka.max_message_bytes":     func(c *Config) { c.MaxMessageBytes = 10 },
		"kafka.fetch_max_bytes":       func(c *Config) { c.FetchMaxBytes = 0 },
		"kafka.fetch_max_wait":        func(c *Config) { c.FetchMaxWait = time.Minute },
		"kafka.compression":           func(c *Config) { c.Compression = "rar" },
		"kafka.commit_interval":       func(c *Config) { c.CommitInterval = 0 },
		"kafka.session_timeout":       func(c *Config) { c.SessionTimeout = time.Hour },
		"kafka.heartbeat_interval":    func(c *Config) { c.HeartbeatInterval = 20 * time.Second },
		"kafka.drain_timeout":         func(c *Config) { c.DrainTimeout = 20 * time.Second },
		"kafka.batch_records":         func(c *Config) { c.BatchRecords = 0 },
		"kafka.max_in_flight_records": func(c *Config) { c.MaxInFlightRecords = 0 },
		"kafka.max_in_flight_bytes":   func(c *Config) { c.MaxInFlightBytes = -1 },
		"kafka.tls has":               func(c *Config) { c.TLS.CAFile = "x" },
		"kafka.tls.cert_file":         func(c *Config) { c.TLS.Enabled, c.TLS.CertFile = true, "x" },
		"kafka.sasl.mechanism":        func(c *Config) { c.SASL.Mechanism = "kerberos" },
		"kafka.sasl has":              func(c *Config) { c.SASL.Username = "x" },
		"kafka.sasl.username":         func(c *Config) { c.SASL.Mechanism, c.SASL.Password = "plain", "x" },
		"kafka.sasl.password":         func(c *Config) { c.SASL.Mechanism, c.SASL.Username = "plain", "x" },
	} {
		t.Run(key, func(t *testing.T) {
			c := DefaultConfig()
			spoil(&c)
			require.ErrorContains(t, c.Validate(), key)
		})
	}
}
