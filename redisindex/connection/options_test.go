package connection

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestOptionsValidate(t *testing.T) {
	require.NoError(t, DefaultOptions().Validate())
	for name, breakIt := range map[string]func(*Options){
		"addrs": func(o *Options) { o.Addrs = nil }, "several": func(o *Options) { o.Addrs = []string{"a:1", "b:1"} },
		"master_name":  func(o *Options) { o.Cluster, o.MasterName = true, "m" },
		"db must be 0": func(o *Options) { o.Cluster, o.DB = true, 1 },
		"key_file":     func(o *Options) { o.TLS.CertFile = "x" },
	} {
		o := DefaultOptions()
		breakIt(&o)
		require.ErrorContains(t, o.Validate(), name)
	}
}

// A user without a password would be ignored: go-redis does not log in then.
func TestUserWithoutPassword(t *testing.T) {
	o := DefaultOptions()
	o.Username = "sieve"
	require.ErrorContains(t, o.Validate(), "username is set without password")
	o.Password = "secret"
	require.NoError(t, o.Validate())
	o.MasterName, o.SentinelUsername = "news", "watcher"
	require.ErrorContains(t, o.Validate(), "sentinel_username is set without sentinel_password")
	o.SentinelPassword = "secret"
	require.NoError(t, o.Validate())
}

// go-redis has one logger for all clients of a process. A program that uses this package keeps it, unless it
// asks for silence.
func TestSilenceClients(t *testing.T) {
	const name = "ECHOSIEVE_TEST_PRINTS"
	if how := os.Getenv(name); how != "" {
		if how == "silent" {
			SilenceClients()
		}
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
		_ = client.Expire(t.Context(), "key", time.Millisecond).Err() // go-redis says that this is less than a second
		require.NoError(t, client.Close())
		return
	}
	for how, want := range map[string]bool{"loud": true, "silent": false} {
		child := exec.Command(os.Args[0], "-test.run", "^TestSilenceClients$")
		child.Env = append(os.Environ(), name+"="+how)
		output, err := child.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.Equal(t, want, strings.Contains(string(output), "truncating"), "%s: %s", how, output)
	}
}

func TestAddrsWantAPort(t *testing.T) {
	o := DefaultOptions()
	o.Addrs = []string{"localhost"}
	require.EqualError(t, o.Validate(), `addrs has "localhost" without a port; did you mean localhost:6379?`)
	o.MasterName = "news"
	require.EqualError(t, o.Validate(), `addrs has "localhost" without a port; did you mean localhost:26379?`)
	o.Addrs = []string{"redis://:hunter2@localhost"}
	require.EqualError(t, o.Validate(), "addrs must be host:port, without scheme, user or password")
	o.Addrs, o.MasterName = []string{"/run/redis.sock"}, ""
	require.NoError(t, o.Validate())
}

func TestOlderThan(t *testing.T) {
	for _, test := range []struct {
		version string
		older   bool
	}{{"6.2.0", false}, {"6.0.16", true}, {"5.9", true}, {"7.0.15", false}, {"10.0", false}, {"6", true}} {
		require.Equal(t, test.older, olderThan(test.version, "6.2"), test.version)
	}
}
