package service

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"echosieve/app/config"
	"echosieve/app/console"
	"echosieve/app/inquiry"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// guarded returns the handler of a service whose component kafka is up, with a console that answers 200 to
// every request that reaches it.
func guarded(cfg config.HTTPConfig) http.Handler {
	h := newHealth(nil, discardLog(), "kafka")
	probed(h, "kafka", nil)
	cfg.Pprof, cfg.Console = true, true
	return newHTTPHandler(cfg, nil, prometheus.NewRegistry(), h,
		map[string]http.Handler{console.Path: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
}

// everyPath holds each path that the listener serves, and one that it does not.
var everyPath = []string{"/", "/metrics", "/readyz", "/healthz", "/docs/", "/docs/runbook.md", "/debug/pprof/cmdline",
	"/console/", "/console/api/feed", "/nothing"}

// answered is the answer to a request with the given headers.
func answered(handler http.Handler, method, path, host string, headers ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, path, strings.NewReader("{}")), httptest.NewRecorder()
	r.Host = host
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	handler.ServeHTTP(w, r)
	return w
}

func answer(handler http.Handler, method, path, host string, headers ...string) int {
	return answered(handler, method, path, host, headers...).Code
}

// TestGuardOfNames requires that every path answers to addresses, to the names of loopback and to http.hosts,
// and to no other name, on whatever address the service listens.
func TestGuardOfNames(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:9464", "0.0.0.0:9464", ":9464", "[::]:9464", "listener.example:9464"} {
		handler := guarded(config.HTTPConfig{Listen: listen,
			Hosts: []string{"Echosieve.internal", ".svc.cluster.local", "echosieve"}})
		for host, want := range map[string]bool{
			// kubelet and Prometheus call by address
			"10.42.0.17:9464": true, "127.0.0.1": true, "[::1]:9464": true, "[2001:db8::7]": true, "10.0.0.1.": true,
			"localhost:9464": true, "LOCALHOST": true, "localhost.:1": true, "a.localhost": true,
			"":                        true, // HTTP/1.0 without a Host
			"echosieve.internal:9464": true, "ECHOSIEVE.internal": true, "echosieve": true,
			"p-0.echosieve.svc.cluster.local:9464": true, "listener.example:80": listen == "listener.example:9464",
			"attacker.example": false, "attacker.example:9464": false, "attacker.example:80:80": false,
			"[attacker.example]": false, "127.0.0.1.attacker.example": false, "localhost.attacker.example": false,
			"notlocalhost": false, "x.echosieve.internal": false, "svc.cluster.local.attacker.example": false,
			"evil-svc.cluster.local": false, "1.2.3": false, "2130706433": false,
		} {
			for _, path := range everyPath {
				for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
					require.Equal(t, want, answer(handler, method, path, host) != http.StatusMisdirectedRequest,
						"%s %s Host %q on %s", method, path, host, listen)
				}
			}
		}
	}
}

// TestGuardOfOrigins requires that no page of another site can send a request, except by a link.
func TestGuardOfOrigins(t *testing.T) {
	handler := guarded(config.HTTPConfig{Listen: "0.0.0.0:9464"})
	const host = "10.0.0.7:9464"
	site := func(of, mode, dest string) []string {
		return []string{"Sec-Fetch-Site", of, "Sec-Fetch-Mode", mode, "Sec-Fetch-Dest", dest}
	}
	for _, c := range []struct {
		name    string
		post    bool
		headers []string
		want    bool
	}{
		{"curl, Prometheus", false, nil, true},
		{"curl posts", true, nil, true},
		{"the page itself", false, []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, true},
		{"the page itself posts", true, []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://" + host}, true},
		{"an old browser's page itself posts", true, []string{"Origin", "http://" + host}, true},
		{"typed into the address bar", false, []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, true},
		{"a link", false, site("cross-site", "navigate", "document"), true},
		{"another site posts", true, append(site("cross-site", "", ""), "Origin", "http://attacker.example"), false},
		{"another site posts from an old browser", true, []string{"Origin", "http://attacker.example"}, false},
		{"a sandboxed frame posts", true, []string{"Origin", "null"}, false},
		{"another port posts", true, append(site("same-site", "", ""), "Origin", "http://10.0.0.7:3000"), false},
		{"a form of another site", true, site("cross-site", "navigate", "document"), false},
		{"an image of another site", false, site("cross-site", "no-cors", "image"), false},
		{"a script of another port", false, site("same-site", "no-cors", "script"), false},
		{"a script of another site over plain HTTP", false, []string{"Origin", "http://attacker.example"}, false},
		{"a sandboxed frame reads", false, []string{"Origin", "null"}, false},
		{"the page itself in an old browser", false, []string{"Origin", "http://" + host, "Referer",
			"http://" + host + "/console/"}, true},
		{"a frame of another site", false, site("cross-site", "navigate", "iframe"), false},
	} {
		method := map[bool]string{false: http.MethodGet, true: http.MethodPost}[c.post]
		for _, path := range everyPath {
			status := answer(handler, method, path, host, append(c.headers, "Content-Type", "application/json")...)
			require.Equal(t, c.want, status != http.StatusForbidden, "%s: %s %s: %d", c.name, method, path, status)
		}
	}
}

// Over plain HTTP to an address browsers send no Sec-Fetch headers. A Referer of another site reaches only
// the pages that people open by links.
func TestGuardOfReferers(t *testing.T) {
	handler := guarded(config.HTTPConfig{Listen: "0.0.0.0:9464"})
	const host = "10.0.0.7:9464"
	linked := map[string]bool{"/": true, "/docs/": true, "/docs/runbook.md": true, "/console/": true}
	for _, path := range everyPath {
		for _, referer := range []string{"http://attacker.example/page", "http://10.0.0.7:3000/", "http://[", "x"} {
			require.Equal(t, linked[path], answer(handler, http.MethodGet, path, host, "Referer",
				referer) != http.StatusForbidden, "%s from %s", path, referer)
		}
		require.NotEqual(t, http.StatusForbidden, answer(handler, http.MethodGet, path, host, "Referer",
			"http://"+host+"/"), path)
	}
}

// Pages that are switched off say so.
func TestPagesThatAreOffSaySo(t *testing.T) {
	h := newHealth(nil, discardLog())
	handler := newHTTPHandler(config.HTTPConfig{}, nil, prometheus.NewRegistry(), h, nil)
	for path, setting := range map[string]string{inquiry.Path: "http.look", inquiry.Description: "http.look",
		inquiry.ChangesPath + "articles/0/0": "http.look",
		console.Path:                         "http.console", console.Path + "api/feed": "http.console"} {
		w := answered(handler, http.MethodGet, path, "localhost")
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.Contains(t, w.Body.String(), "set "+setting)
	}
}

// A form of another site can send these content types without asking.
func TestGuardOfContentTypes(t *testing.T) {
	handler := guarded(config.HTTPConfig{Listen: "127.0.0.1:9464"})
	for kind, want := range map[string]int{
		"application/json": http.StatusOK, "application/json; charset=utf-8": http.StatusOK,
		"Application/JSON": http.StatusOK,
		"":                 http.StatusUnsupportedMediaType, "text/plain": http.StatusUnsupportedMediaType,
		"application/x-www-form-urlencoded": http.StatusUnsupportedMediaType,
		"multipart/form-data; boundary=x":   http.StatusUnsupportedMediaType,
		"text/plain; a=application/json":    http.StatusUnsupportedMediaType,
		"application/json-seq":              http.StatusUnsupportedMediaType, ";": http.StatusUnsupportedMediaType,
	} {
		require.Equal(t, want, answer(handler, http.MethodPost, console.Path+"api/compare", "localhost",
			"Content-Type", kind), kind)
	}
}

// Every answer, also a refusal, tells browsers to show it in no frame, to guess no type and to give it to no
// other site.
func TestGuardHeaders(t *testing.T) {
	handler := guarded(config.HTTPConfig{Listen: "127.0.0.1:9464"})
	for _, host := range []string{"localhost", "attacker.example"} {
		for _, path := range everyPath {
			h := answered(handler, http.MethodGet, path, host).Header()
			require.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
			require.Equal(t, []string{"nosniff", "same-origin", ""}, []string{h.Get("X-Content-Type-Options"),
				h.Get("Cross-Origin-Resource-Policy"), h.Get("Access-Control-Allow-Origin")}, path)
		}
	}
}

// TestLinks requires that the page at / leads to every path that the settings serve, and to no other.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`href="([^"]+)"`)
	for _, all := range []bool{false, true} {
		cfg := config.HTTPConfig{Listen: "127.0.0.1:9464", Pprof: all, Console: all, Look: all}
		h := newHealth(nil, discardLog(), "kafka")
		probed(h, "kafka", nil)
		pages := map[string]http.Handler{}
		if all {
			page := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
			pages[console.Path], pages[inquiry.Description] = page, page
		}
		handler := newHTTPHandler(cfg, nil, prometheus.NewRegistry(), h, pages)
		w := answered(handler, http.MethodGet, "/", "localhost")
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		links := link.FindAllStringSubmatch(w.Body.String(), -1)
		require.Len(t, links, map[bool]int{false: 4, true: 7}[all])
		for _, l := range links {
			require.Equal(t, http.StatusOK, answer(handler, http.MethodGet, "/"+l[1], "localhost"), l[1])
		}
	}
}

// TestScrapesAtOnce requires that of many scrapes at the same time, those above the limit are refused and
// hold up nobody.
func TestScrapesAtOnce(t *testing.T) {
	reg, entered, release := prometheus.NewRegistry(), make(chan struct{}, metricsInFlight), make(chan struct{})
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slow"}, func() float64 {
		entered <- struct{}{}
		<-release
		return 0
	}))
	url := startHTTP(t, reg, newHealth(nil, discardLog(), "kafka"), config.HTTPConfig{})
	var scrapes sync.WaitGroup
	for range metricsInFlight {
		scrapes.Go(func() {
			r, err := http.Get(url + "/metrics")
			if assert.NoError(t, err) {
				assert.NoError(t, r.Body.Close())
			}
		})
	}
	for range metricsInFlight {
		<-entered
	}
	status, _, _ := fetch(t, http.MethodGet, url+"/metrics")
	require.Equal(t, http.StatusServiceUnavailable, status)
	close(release)
	scrapes.Wait()
}
