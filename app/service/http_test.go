package service

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"echosieve/app/config"
)

// startHTTP serves on a free port until the test ends and returns the base address.
func startHTTP(t *testing.T, reg *prometheus.Registry, h *health, cfg config.HTTPConfig) string {
	t.Helper()
	return "http://" + serveUntilEnd(t, newHTTPHandler(cfg, nil, reg, h, nil))
}

// serveUntilEnd serves with a handler on a free port until the test ends and returns the address.
func serveUntilEnd(t *testing.T, handler http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serveHTTP(ctx, l, nil, handler, discardLog()) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return l.Addr().String()
}

func fetch(t *testing.T, method, url string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json") // the guard refuses others before it looks at the path
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header, string(body)
}

func TestHTTPMethodsAndPaths(t *testing.T) {
	h := newHealth(nil, discardLog(), "kafka")
	probed(h, "kafka", nil)
	for _, withPprof := range []bool{false, true} {
		url := startHTTP(t, prometheus.NewRegistry(), h, config.HTTPConfig{Pprof: withPprof})
		paths := []string{"/", "/metrics", "/healthz", "/readyz"}
		if withPprof {
			paths = append(paths, "/debug/pprof/", "/debug/pprof/symbol")
		}
		for _, path := range paths {
			status, _, body := fetch(t, http.MethodHead, url+path)
			require.Equal(t, http.StatusOK, status, path)
			require.Empty(t, body)
			for method := range strings.FieldsSeq("POST PUT PATCH DELETE OPTIONS TRACE PROPFIND get") {
				status, header, _ := fetch(t, method, url+path)
				require.Equal(t, http.StatusMethodNotAllowed, status, path)
				require.Equal(t, "GET, HEAD", header.Get("Allow"))
			}
		}
		for path := range strings.FieldsSeq("/metrics/ /readyz/x /favicon.ico /..%2f..%2fetc/passwd /metrics%00 " +
			"/debug/vars /debug /debug/pprof/../vars //etc/passwd /console/ /index.html") {
			status, _, _ := fetch(t, http.MethodGet, url+path)
			require.Equal(t, http.StatusNotFound, status, path)
		}
		status, _, _ := fetch(t, http.MethodGet, url+"/debug/pprof/goroutine?debug=1")
		require.Equal(t, map[bool]int{false: http.StatusNotFound, true: http.StatusOK}[withPprof], status)
	}
}

// Long headers are refused, and the server goes on.
func TestHTTPHeaderLimit(t *testing.T) {
	h := newHealth(nil, discardLog(), "kafka")
	url := startHTTP(t, prometheus.NewRegistry(), h, config.HTTPConfig{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n",
		strings.Repeat("x", 3*httpMaxHeaderBytes))
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "431")
	status, _, _ := fetch(t, http.MethodGet, url+"/healthz")
	require.Equal(t, http.StatusOK, status)
}

// By default the listener is on loopback, pprof is off, and certificates are verified.
func TestHTTPDefaults(t *testing.T) {
	host, _, err := net.SplitHostPort(config.Default().HTTP.Listen)
	require.NoError(t, err)
	require.True(t, net.ParseIP(host).IsLoopback())
	require.False(t, config.Default().HTTP.Pprof)
	require.False(t, config.Default().Kafka.TLS.InsecureSkipVerify)
	require.False(t, config.Default().Redis.TLS.InsecureSkipVerify)
}

// Strangers who keep connections, with and without requests, take no more than the limit, and each only for
// some seconds: then it is the turn of a health probe.
func TestConnectionsAreBounded(t *testing.T) {
	address := serveUntilEnd(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") }))
	var strangers []net.Conn
	for i := range maxConnections {
		stranger, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = stranger.Close() })
		strangers = append(strangers, stranger)
		switch i % 3 {
		case 1:
			_, _ = io.WriteString(stranger, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") // and keeps it
		case 2:
			_, _ = io.WriteString(stranger, "GET / HT")
		}
	}
	fetch(t, http.MethodGet, "http://"+address) // a probe
	for _, stranger := range strangers {        // all were there before the probe, and the first of them had to go
		_ = stranger.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := io.Copy(io.Discard, stranger); err == nil {
			return
		}
	}
	require.Fail(t, "the probe took no place of a stranger")
}

// "OPTIONS *" passes the guard, which knows the names of the listener.
func TestOptionsOfTheServerPassTheGuard(t *testing.T) {
	conn, err := net.Dial("tcp", serveUntilEnd(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Host, http.StatusMisdirectedRequest)
	})))
	require.NoError(t, err)
	_, err = io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: stranger.example\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "421")
}

// A process that finds no room to listen says so.
func TestNoRoomToListen(t *testing.T) {
	held, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = held.Close() })
	cfg := config.Default()
	cfg.HTTP.Listen = held.Addr().String()
	_, err = New(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "is another process using the port?")
}

// ofStories gathers the metrics that only the role of stories has: Gatherers takes no metric twice.
type ofStories struct{ prometheus.Gatherer }

func (o ofStories) Gather() ([]*dto.MetricFamily, error) {
	all, err := o.Gatherer.Gather()
	return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool {
		return !strings.HasPrefix(f.GetName(), "echosieve_stories_")
	}), err
}

// Dashboards are written from docs/metrics.md: it lists exactly the metrics that a service and the role of stories
// register.
func TestMetricsAreThoseInTheDocs(t *testing.T) {
	cfg := config.Default()
	cfg.HTTP.Listen = "127.0.0.1:0"
	cfg.Input.Records.PublisherLabels = 1 // 0 leaves a metric out
	cfg.Kafka.Topics.Learnt = cfg.LearntTopic()
	cfg.Input.Format, cfg.Input.Framing, cfg.Input.Avro.Registry.URLs = "avro", "confluent", []string{"http://127.0.0.1:1"}
	var err error
	cfg.Input.Schemas, err = cfg.Input.Avro.Open()
	require.NoError(t, err)
	s, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer s.Close()
	role, err := NewStories(t.Context(), cfg, StoriesConfig{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer role.Close()
	families, err := prometheus.Gatherers{s.registry, ofStories{role.registry}}.Gather()
	require.NoError(t, err)
	got := map[string]string{}
	labels := map[string][]string{} // values of "metric label"
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "echosieve_") {
			continue
		}
		got[f.GetName()] = strings.ToLower(f.GetType().String())
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				of := f.GetName() + " " + l.GetName()
				labels[of] = append(labels[of], l.GetValue())
			}
		}
	}

	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	require.NoError(t, err)
	want := map[string]string{}
	for _, row := range regexp.MustCompile(
		"(?m)^- `(echosieve_[a-z0-9_]+)`(?:, ([a-z]+))?(?:; ([^:\n]*))?(?:: |$)").
		FindAllStringSubmatch(strings.ReplaceAll(string(text), "\n  ", " "), -1) {
		want[row[1]] = cmp.Or(row[2], "counter")
		for _, label := range regexp.MustCompile("`([a-z]+)` \\(([^)]*)\\)").FindAllStringSubmatch(row[3], -1) {
			values := labels[row[1]+" "+label[1]]
			slices.Sort(values)
			listed := strings.Split(label[2], ", ")
			slices.Sort(listed)
			require.Equal(t, slices.Compact(values), listed, "%s{%s}", row[1], label[1])
		}
	}
	// The lag of a partition exists once the partition is assigned, and the figures of a node once the node
	// was queried. test/e2e checks both.
	for later := range strings.FieldsSeq("consumer_lag_records stories_lag_records redisindex_save_failing " +
		"redisindex_memory_used_bytes redisindex_memory_limit_bytes") {
		later = "echosieve_" + later
		require.Contains(t, want, later)
		delete(want, later)
	}
	require.Equal(t, want, got)
}
