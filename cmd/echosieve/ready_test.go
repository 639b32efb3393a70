package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReady(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/readyz", r.URL.Path)
		w.WriteHeader(status)
		_, _ = w.Write([]byte("redis: gone\n"))
	}))
	defer server.Close()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	listen := strings.TrimPrefix(server.URL, "http://")
	ready := func(listen string) (code int, out, errOut string) {
		var o, e bytes.Buffer
		code = execute(t.Context(), []string{"ready", "--http.listen", listen}, nil, &o, &e)
		return code, o.String(), e.String()
	}
	for _, address := range []string{listen, strings.Replace(listen, "127.0.0.1", "", 1), strings.Replace(listen, "127.0.0.1", "0.0.0.0", 1)} {
		code, out, errOut := ready(address)
		require.Equal(t, exitOK, code, errOut)
		require.Equal(t, "redis: gone\n", out)
	}
	status = http.StatusServiceUnavailable
	code, _, errOut := ready(listen)
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "not ready: 503")
	server.Close()
	code, _, errOut = ready(listen)
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "is the service running?")
}
