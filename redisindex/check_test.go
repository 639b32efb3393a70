package redisindex

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"echosieve/internal/diag"
	"echosieve/test/redisserver"
)

// problems returns the findings as "severity setting".
func problems(findings []diag.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, string(f.Severity)+" "+f.Subject[strings.LastIndex(f.Subject, " ")+1:])
	}
	return out
}

func TestCheck(t *testing.T) {
	good := []string{"--maxmemory-policy", "noeviction", "--hash-max-listpack-value", "1024", "--appendonly", "yes"}
	for _, test := range []struct {
		name string
		args []string
		acl  []any
		want []string
	}{
		{"good", nil, nil, nil},
		{"no persistence", []string{"--appendonly", "no"}, nil, []string{"warning appendonly"}},
		{"evicts", []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, nil, []string{"warning maxmemory-policy"}},
		{"may evict later", []string{"--maxmemory-policy", "volatile-ttl"}, nil, []string{"note maxmemory-policy"}},
		{"large hashes", []string{"--hash-max-listpack-value", "64"}, nil, []string{"warning hash-max-listpack-value"}},
		{"very large hashes", []string{"--hash-max-listpack-value", "2048"}, nil, []string{"warning hash-max-listpack-value"}},
		{"many fields", []string{"--hash-max-listpack-entries", "16"}, nil, []string{"warning hash-max-listpack-entries"}},
		{"password", []string{"--requirepass", "x"}, nil, []string{"failure redis"}},
		{"no rights", nil, []any{"-hmget"}, []string{"failure redis"}},
		{"no rights to ask", nil, []any{"-config", "-info"}, []string{"note INFO", "note settings"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var args []string
			for i := 0; i < len(good); i += 2 {
				if len(test.args) == 0 || !contains(test.args, good[i]) {
					args = append(args, good[i], good[i+1])
				}
			}
			server := redisserver.Start(t, append(args, test.args...)...)
			client := newClient(t, server.Addr)
			if test.acl != nil {
				require.NoError(t, client.Do(t.Context(), append([]any{"ACL", "SETUSER", "default"}, test.acl...)...).Err())
			}
			require.Equal(t, test.want, problems(Check(t.Context(), client, testConfig(standard))))
		})
	}
}

// Sets need another setting, and do without the hashes of block lists.
func TestCheckSets(t *testing.T) {
	server := redisserver.Start(t, "--hash-max-listpack-value", "2048", "--appendonly", "yes", "--set-max-intset-entries", "512")
	client := newClient(t, server.Addr)
	findings := Check(t.Context(), client, kindConfig(standard, bucketsSets))
	require.Equal(t, []string{"warning set-max-intset-entries"}, problems(findings))
	require.Equal(t, "CONFIG SET set-max-intset-entries 2048", findings[0].Remedy)
	require.NoError(t, client.ConfigSet(t.Context(), "set-max-intset-entries", "2048").Err())
	require.Empty(t, Check(t.Context(), client, kindConfig(standard, bucketsSets)))
}

func contains(args []string, name string) bool {
	for i := 0; i < len(args); i += 2 {
		if args[i] == name {
			return true
		}
	}
	return false
}

func TestCheckWithoutServerCommands(t *testing.T) {
	findings := Check(t.Context(), newClient(t, miniredis.RunT(t).Addr()), testConfig(standard))
	for _, f := range findings {
		require.Equal(t, diag.Note, f.Severity, "%+v", f)
	}
	require.NotEmpty(t, findings)
}

func TestCheckWithoutServer(t *testing.T) {
	o := DefaultOptions()
	o.Addrs, o.Timeout = []string{"127.0.0.1:1"}, time.Second
	client, err := Connect(o)
	require.NoError(t, err)
	defer client.Close()
	require.Equal(t, []string{"failure redis"}, problems(Check(t.Context(), client, testConfig(standard))))
}

func TestOlderThan(t *testing.T) {
	for _, test := range []struct {
		version string
		older   bool
	}{{"6.2.0", false}, {"6.0.16", true}, {"5.9", true}, {"7.0.15", false}, {"10.0", false}, {"6", true}} {
		require.Equal(t, test.older, olderThan(test.version, "6.2"), test.version)
	}
}
