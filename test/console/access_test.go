package console

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"echosieve/app/access"
	"echosieve/app/config"
	"echosieve/test/certs"
	"echosieve/test/inprocess"
)

// TestConsoleIsReadOnly requires that the console refuses requests that could change something, that the
// service answers to no foreign name, and that only the console shows articles.
func TestConsoleIsReadOnly(t *testing.T) {
	page, _, _ := demo(t)
	base, err := url.Parse(page)
	require.NoError(t, err)
	ask := func(method, path, host string) (int, string) {
		t.Helper()
		at, err := base.Parse(path) // a redirect would carry a Referer, which names another host than the request
		require.NoError(t, err)
		request, err := http.NewRequest(method, at.String(), strings.NewReader("{"))
		require.NoError(t, err)
		request.Host = host
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	status := func(method, path, host string) int {
		t.Helper()
		code, _ := ask(method, path, host)
		return code
	}
	others := []string{"../", "../metrics", "../readyz", "../healthz"}
	for _, path := range append(others, "") {
		require.Equal(t, http.StatusOK, status(http.MethodGet, path, "localhost:1"))
		require.Equal(t, http.StatusMisdirectedRequest, status(http.MethodGet, path, "news.example"))
	}
	for _, path := range []string{"", "api/verdict", "api/titles", "api/feed", "api/find", "api/stories", "stories/"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			require.Equal(t, http.StatusMethodNotAllowed, status(method, path, ""), "%s %s", method, path)
		}
	}
	require.Equal(t, http.StatusBadRequest, status(http.MethodPost, "api/compare", ""))
	require.Equal(t, http.StatusBadRequest, status(http.MethodGet, "api/verdict", ""))

	_, article := ask(http.MethodGet, "api/verdict?at=articles/0/0", "")
	var shown struct {
		Articles []struct{ ID, Title, Text string }
	}
	require.NoError(t, json.Unmarshal([]byte(article), &shown))
	for _, path := range others {
		_, body := ask(http.MethodGet, path, "")
		for _, word := range []string{shown.Articles[0].ID, shown.Articles[0].Title, shown.Articles[0].Text[:40]} {
			require.NotEmpty(t, word)
			require.NotContains(t, body, word, path)
		}
	}
}

// TestOtherSites opens pages of strangers in a browser that reaches the service. Neither a page of another
// origin nor one whose name was made to lead to the service gets an answer, and what they post is refused.
func TestOtherSites(t *testing.T) {
	page, _, _ := demo(t)
	service := strings.TrimSuffix(page, "/console/")
	_, port, _ := strings.Cut(strings.TrimPrefix(service, "http://"), ":")
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<p>stranger</p>")
	}))
	defer stranger.Close()
	b := &browserTab{t, startBrowser(t)}

	// A name of the stranger that leads to the service: every answer is a refusal.
	for _, path := range []string{"/", "/metrics", "/readyz", "/console/", "/console/api/verdict?at=articles/0/0"} {
		b.run(chromedp.Navigate("http://attacker.example:" + port + path))
		require.Contains(t, eval[string](b, "document.body.textContent"), "http.hosts", path)
	}
	// Another port of the same machine, which browsers take for the same site.
	b.run(chromedp.Navigate(stranger.URL))
	for name, request := range map[string]string{
		"read":            `fetch(%q + "/readyz")`,
		"read an article": `fetch(%q + "/console/api/verdict?at=articles/0/0")`,
		"post JSON":       `fetch(%q + "/console/api/compare", {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"})`,
		"post as a form":  `fetch(%q + "/console/api/compare", {method: "POST", body: new URLSearchParams({a: "b"})})`,
	} {
		b.do(`window.outcome = ""; ` + fmt.Sprintf(request, service) +
			`.then((r) => { window.outcome = "answered " + r.status }, () => { window.outcome = "refused" })`)
		b.until(`window.outcome !== ""`)
		require.Equal(t, "refused", eval[string](b, "window.outcome"), name)
	}
	// An image is loaded without asking; the service refuses it all the same.
	b.do(`window.outcome = ""; const i = new Image(); i.onload = () => { window.outcome = "loaded" }; i.onerror = () => { window.outcome = "refused" };
		i.src = ` + fmt.Sprintf("%q", page+"icon.svg") + `; document.body.append(i)`)
	b.until(`window.outcome !== ""`)
	require.Equal(t, "refused", eval[string](b, "window.outcome"))
	// A link to the console works.
	b.do(`const a = document.createElement("a"); a.href = ` + fmt.Sprintf("%q", page) +
		`; a.id = "link"; a.textContent = "link"; document.body.append(a)`)
	b.run(chromedp.Click("#link"), chromedp.WaitVisible("#feed-title"))
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
