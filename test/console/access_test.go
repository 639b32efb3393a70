package console

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/app/access"
	"echosieve/app/config"
	"echosieve/test/certs"
	"echosieve/test/inprocess"
)

// TestConsoleIsReadOnly requires that the console refuses requests that could change something, and that only the
// console shows articles.
func TestConsoleIsReadOnly(t *testing.T) {
	page, _, _ := demo(t)
	base, err := url.Parse(page)
	require.NoError(t, err)
	ask := func(method, path string) (int, string) {
		t.Helper()
		at, err := base.Parse(path)
		require.NoError(t, err)
		request, err := http.NewRequest(method, at.String(), strings.NewReader("{"))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	for _, path := range []string{"", "api/verdict", "api/titles", "api/feed", "api/find", "api/stories", "stories/"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			status, _ := ask(method, path)
			require.Equal(t, http.StatusMethodNotAllowed, status, "%s %s", method, path)
		}
	}
	status, _ := ask(http.MethodPost, "api/compare")
	require.Equal(t, http.StatusBadRequest, status)

	_, article := ask(http.MethodGet, "api/verdict?at=articles/0/0")
	var shown struct {
		Articles []struct{ ID, Title, Text string }
	}
	require.NoError(t, json.Unmarshal([]byte(article), &shown))
	for _, path := range []string{"../", "../metrics", "../readyz", "../healthz"} {
		status, body := ask(http.MethodGet, path)
		require.Equal(t, http.StatusOK, status, path)
		for _, word := range []string{shown.Articles[0].ID, shown.Articles[0].Title, shown.Articles[0].Text[:40]} {
			require.NotEmpty(t, word)
			require.NotContains(t, body, word, path)
		}
	}
}

// TestConsoleBehindALogin asks a service with TLS and a login, with the token of a program and without.
func TestConsoleBehindALogin(t *testing.T) {
	pair, dir := certs.NewAuthority(t).ServerOn("127.0.0.1"), t.TempDir()
	web, token := filepath.Join(dir, "web.yaml"), filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(web,
		fmt.Appendf(nil, "tls_server_config: {cert_file: %s, key_file: %s}\n", pair.Cert, pair.Key), 0o600))
	require.NoError(t, os.WriteFile(token, []byte("a-token-of-a-program\n"), 0o600))
	w := inprocess.Start(t, func(c *config.Config) {
		c.HTTP.Console, c.HTTP.ConfigFile, c.HTTP.TokenFile, c.HTTP.Open = true, web, token, []string{"/healthz"}
	})
	cfg := w.Config.HTTP
	cfg.Listen = w.HTTP
	status := func(cfg config.HTTPConfig, path string) int {
		res, err := access.Ask(t.Context(), cfg, path)
		require.NoError(t, err)
		_ = res.Body.Close()
		return res.StatusCode
	}
	require.Eventually(t, func() bool { return status(cfg, "/readyz") == http.StatusOK }, patience, 50*time.Millisecond)
	require.Equal(t, http.StatusOK, status(cfg, "/console/api/find?q=a"))
	cfg.TokenFile = ""
	for _, path := range []string{"/readyz", "/console/", "/console/api/find?q=a"} {
		require.Equal(t, http.StatusUnauthorized, status(cfg, path), path)
	}
	require.Equal(t, http.StatusOK, status(cfg, "/healthz"))
}
