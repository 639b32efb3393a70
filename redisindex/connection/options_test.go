package connection

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/internal/remote"
)

// Without a password go-redis would not log in as the user at all.
func TestOptionsValidate(t *testing.T) {
	require.NoError(t, DefaultOptions().Validate())
	for want, o := range map[string]Options{
		"addrs is empty":                                     {},
		"addrs has several servers":                          {Addrs: []string{"a:1", "b:1"}},
		"cluster and master_name":                            {Cluster: true, MasterName: "m"},
		"db must be 0":                                       {Cluster: true, DB: 1},
		"username is set without pas":                        {Username: "sieve"},
		"sentinel_username is set without sentinel_password": {MasterName: "news", SentinelUsername: "watcher"},
		`addrs has "localhost" without a port; did you mean localhost:6379?`: {Addrs: []string{"localhost"}},
		`addrs has "localhost" without a port; did you mean localhost:26379?`: {Addrs: []string{"localhost"},
			MasterName: "m"},
		"addrs must be host:port, without scheme, user or": {
			Addrs: []string{"redis://:hunter2@localhost"}},
		"key_file": {TLS: remote.TLS{Enabled: true, Files: remote.Files{CertFile: "x"}}},
	} {
		err := o.Validate()
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
	require.NoError(t, Options{Addrs: []string{"/run/redis.sock"}}.Validate())
	require.NoError(t, Options{Addrs: []string{"a:1"}, MasterName: "news", Username: "sieve", Password: "secret",
		SentinelUsername: "watcher", SentinelPassword: "secret"}.Validate())
}

func TestOlderThan(t *testing.T) {
	for _, test := range []struct {
		version string
		older   bool
	}{{"6.2.0", false}, {"6.0.16", true}, {"5.9", true}, {"7.0.15", false}, {"10.0", false}, {"6", true}} {
		require.Equal(t, test.older, olderThan(test.version, "6.2"), test.version)
	}
}
