package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"echosieve/internal/app/command"

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
		return echosieve(t, "", "ready", "--http.listen", listen)
	}
	for _, address := range []string{listen, strings.Replace(listen, "127.0.0.1", "", 1),
		strings.Replace(listen, "127.0.0.1", "0.0.0.0", 1)} {
		code, out, errOut := ready(address)
		require.Equal(t, command.ExitOK, code, errOut)
		require.Equal(t, "redis: gone\n", out)
	}
	status = http.StatusServiceUnavailable
	code, _, errOut := ready(listen)
	require.Equal(t, command.ExitFailed, code)
	require.Contains(t, errOut, "not ready: 503")
	status = http.StatusUnauthorized
	_, _, errOut = ready(listen)
	require.Contains(t, errOut, "set http.token_file")
	server.Close()
	code, _, errOut = ready(listen)
	require.Equal(t, command.ExitFailed, code)
	require.Contains(t, errOut, "is the service running?")
}
