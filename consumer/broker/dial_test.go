package broker

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/internal/diag"
	"echosieve/test/redisserver"
)

// A server of another kind, or one whose first answer lies about its size, is refused before kafka-go reads from it.
func TestOtherServersAreRefused(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	const cut = "\x00\x00\x00\x0e\x00\x00\x00\x01\x00\x00\x40\x00\x00\x00\x00\x03\x00\x00"
	for addr, want := range map[string]string{
		strings.TrimPrefix(web.URL, "http://"):           "speaks HTTP, not Kafka: set kafka.brokers",
		redisserver.Addr(t):                              "speaks Redis, not Kafka: set kafka.brokers",
		answering(t, "\xff\xff\xff\xfb\x00\x00\x00\x01"): "a size of -5 bytes",
		answering(t, "\x7f\xff\xff\xff\x00\x00\x00\x01"): "a size of 2147483647 bytes",
		answering(t, cut):                                "response did not contain enough data",
	} {
		cluster, err := New(Config{Brokers: []string{addr}})
		require.NoError(t, err)
		t.Cleanup(cluster.Close)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = cluster.Ping(t.Context())
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, want)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), want)
		if strings.Contains(want, "speaks") {
			p := (*diag.Problem)(nil)
			require.ErrorAs(t, err, &p)
			require.True(t, p.Permanent)
		}
	}
}

// answering returns the address of a server that answers each request with a text.
func answering(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 1024))
				_, _ = io.WriteString(conn, text)
			}()
		}
	}()
	return l.Addr().String()
}
