package broker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestValidateNamesTheKey(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())
	for key, spoil := range map[string]func(*Config){
		"kafka.brokers":          func(c *Config) { c.Brokers = nil },
		"kafka.group":            func(c *Config) { c.Group = "" },
		"kafka.topics.input":     func(c *Config) { c.Topics.Input = "" },
		"kafka.topics.unique":    func(c *Config) { c.Topics.Unique = "" },
		"kafka.topics.duplicate": func(c *Config) { c.Topics.Duplicate = "" },
		"kafka.topics.dead":      func(c *Config) { c.Topics.Dead = "" },
		"kafka.topics.input and kafka.topics.dead have": func(c *Config) { c.Topics.Dead = c.Topics.Input },
		"kafka.compression":                             func(c *Config) { c.Compression = "rar" },
		"kafka.drain_timeout":                           func(c *Config) { c.DrainTimeout = 20 * time.Second },
		"kafka.tls has":                                 func(c *Config) { c.TLS.CAFile = "x" },
		"kafka.tls.cert_file":                           func(c *Config) { c.TLS.Enabled, c.TLS.CertFile = true, "x" },
		"kafka.sasl.mechanism":                          func(c *Config) { c.SASL.Mechanism = "kerberos" },
		"kafka.sasl has":                                func(c *Config) { c.SASL.Username = "x" },
		"kafka.sasl.username":                           func(c *Config) { c.SASL.Mechanism, c.SASL.Password = "plain", "x" },
		"kafka.sasl.password":                           func(c *Config) { c.SASL.Mechanism, c.SASL.Username = "plain", "x" },
	} {
		t.Run(key, func(t *testing.T) {
			c := DefaultConfig()
			spoil(&c)
			require.ErrorContains(t, c.Validate(), key)
		})
	}
}
