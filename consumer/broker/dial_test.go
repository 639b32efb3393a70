package broker

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/internal/diag"
	"echosieve/test/host"
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
		allocated := host.Allocated(func() { err = cluster.Ping(t.Context()) })
		require.ErrorContains(t, err, want)
		require.Less(t, allocated, uint64(32<<20), want)
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

// While the token endpoint hangs, logins fail together: none waits until those before it have asked.
func TestLoginsFailTogether(t *testing.T) {
	t.Parallel()
	asked, over := atomic.Int32{}, make(chan struct{})
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1); <-over }))
	t.Cleanup(endpoint.Close)
	t.Cleanup(func() { close(over) })
	login, err := SASL{Mechanism: mechanismOAuth, Username: "x", Password: "x", TokenURL: endpoint.URL}.load("")
	require.NoError(t, err)
	const logins = 8
	var wait sync.WaitGroup
	for range logins {
		wait.Go(func() {
			_, _, err := login.Start(t.Context())
			require.ErrorContains(t, err, "did not answer in time")
		})
	}
	wait.Wait()
	require.Less(t, asked.Load(), int32(logins))
}

// A leader that names a replica unasked is the one that is fetched from.
func TestReplicaThatNobodyAskedFor(t *testing.T) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "articles"))
	require.NoError(t, err)
	t.Cleanup(fake.Close)
	fake.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		res := req.ResponseKind().(*kmsg.FetchResponse)
		p := kmsg.NewFetchResponseTopicPartition()
		p.PreferredReadReplica = 0
		res.Topics = []kmsg.FetchResponseTopic{{Topic: "articles", Partitions: []kmsg.FetchResponseTopicPartition{p}}}
		return res, nil, true
	})
	cfg := DefaultConfig()
	cfg.Brokers = fake.ListenAddrs()
	c, err := New(cfg, "articles")
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for _, near := range []bool{false, true} {
		p := c.Partition("articles", 0)
		p.Limiter, p.Near = NewLimiter(1, 1<<20, NewMetrics(nil)), near
		_, release, err := p.Fetch(t.Context(), 0, 1<<20)
		require.NoError(t, err)
		release()
	}
}
