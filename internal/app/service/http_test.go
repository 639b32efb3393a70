package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"echosieve/internal/app/config"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// startHTTP serves on a free port until the test ends and returns the base address.
func startHTTP(t *testing.T, reg *prometheus.Registry, h *health, cfg config.HTTPConfig) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serveHTTP(ctx, l, nil, newHTTPHandler(cfg, nil, reg, h, nil), h.log) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return "http://" + l.Addr().String()
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

func TestHTTPReady(t *testing.T) {
	h := newHealth(nil, discardLog(), "kafka", "redis")
	url := startHTTP(t, prometheus.NewRegistry(), h, config.HTTPConfig{})
	var body struct {
		Ready      bool
		Components map[string]componentState
	}
	ready := func(want int) {
		t.Helper()
		status, header, text := fetch(t, http.MethodGet, url+"/readyz")
		require.Equal(t, want, status)
		require.Equal(t, "application/json", header.Get("Content-Type"))
		clear(body.Components)
		require.NoError(t, json.Unmarshal([]byte(text), &body))
		require.Equal(t, want == http.StatusOK, body.Ready)
	}
	ready(http.StatusServiceUnavailable)
	probed(h, "kafka", nil)
	probed(h, "redis", fmt.Errorf("dial: %w", io.EOF))
	ready(http.StatusServiceUnavailable)
	require.True(t, body.Components["kafka"].Up)
	require.Equal(t, "dial: EOF", body.Components["redis"].Error)
	probed(h, "redis", nil)
	ready(http.StatusOK)
	require.WithinDuration(t, time.Now(), body.Components["redis"].Since, time.Minute)

	status, _, text := fetch(t, http.MethodGet, url+"/healthz")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status": "alive"}`, text)
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
			for _, method := range []string{
				http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
				http.MethodTrace, "PROPFIND", "get",
			} {
				status, header, _ := fetch(t, method, url+path)
				require.Equal(t, http.StatusMethodNotAllowed, status, path)
				require.Equal(t, "GET, HEAD", header.Get("Allow"))
			}
		}
		for _, path := range []string{
			"/metrics/", "/readyz/x", "/favicon.ico", "/..%2f..%2fetc/passwd", "/metrics%00", "/debug/vars", "/debug",
			"/debug/pprof/../vars", "//etc/passwd", "/console/", "/index.html",
		} {
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
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
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
