package remote

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckAddress(t *testing.T) {
	for _, addr := range []string{"localhost:6379", "10.0.0.1:1", "[::1]:6379", "redis.example:65535"} {
		require.NoError(t, CheckAddress(addr, "6379"), addr)
	}
	for addr, want := range map[string]string{
		"localhost":                `has "localhost" without a port; did you mean localhost:6379?`,
		"":                         `has "", must be host:port such as localhost:6379 or [::1]:6379`,
		":6379":                    `has ":6379", must be`,
		"localhost:":               `has "localhost:", must be`,
		"localhost:0":              `has "localhost:0", must be`,
		"localhost:redis":          `has "localhost:redis", must be`,
		"localhost:70000":          `has "localhost:70000", must be`,
		"::1":                      `has "::1", must be`,
		"redis://u:hunter2@host:1": "must be host:port, without scheme, user or password",
		"u:hunter2@host":           "must be host:port, without scheme, user or password",
	} {
		err := CheckAddress(addr, "6379")
		require.ErrorContains(t, err, want, addr)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
