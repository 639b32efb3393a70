package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"syscall"
	"time"

	"echosieve/app/access"
	"echosieve/app/config"
	"echosieve/app/console"
	"echosieve/app/inquiry"
	"echosieve/app/storylist"
	"echosieve/app/visible"
	"echosieve/docs"
	"echosieve/internal/diag"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"
)

const (
	httpHeaderTimeout = 5 * time.Second
	httpReadTimeout   = 10 * time.Second
	httpWriteTimeout  = 90 * time.Second // a CPU profile takes 30 s before its first byte
	// httpIdleTimeout is short: an idle connection takes the place of a new one.
	httpIdleTimeout     = 5 * time.Second
	httpMaxHeaderBytes  = 16 << 10
	httpShutdownTimeout = 2 * time.Second
	metricsInFlight     = 4
	// httpStreams bounds the requests at a time of one connection of HTTP/2.
	httpStreams = 8
	// maxConnections bounds the connections of clients: with TLS each takes some 50 KB. More of them wait.
	maxConnections = 256
)

// newHTTPHandler serves the paths of the listener, behind the guard and the login: a page of links at /,
// /docs/, /metrics, /healthz and /readyz, and what the settings add. Other methods than GET and HEAD are
// refused, except by the pages. pages are the handlers of further paths.
func newHTTPHandler(cfg config.HTTPConfig, login *access.Access, metrics prometheus.Gatherer, h *health,
	pages map[string]http.Handler) http.Handler {
	mux := http.NewServeMux() // a pattern with GET matches HEAD as well; other methods get 405
	mux.HandleFunc("GET /{$}", serveLinks(cfg))
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(h.log.Handler(), slog.LevelError),
		MaxRequestsInFlight: metricsInFlight,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		visible.Answer(w, http.StatusOK, map[string]any{"status": "alive"}, h.log)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		ready, components := h.state()
		status := http.StatusOK
		if !ready {
			status = http.StatusServiceUnavailable
		}
		visible.Answer(w, status, map[string]any{"ready": ready, "components": components}, h.log)
	})
	mux.Handle("GET "+docs.Path, docs.Handler())
	for path, page := range pages {
		mux.Handle(path, page)
	}
	for path, setting := range map[string]string{inquiry.Path: "http.look", inquiry.Description: "http.look",
		inquiry.ChangesPath: "http.look", storylist.Path: "http.look", storylist.FeedPath: "http.look",
		console.Path: "http.console"} {
		if pages[path] == nil {
			mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "This page is switched off: set "+setting+" in the service.", http.StatusNotFound)
			})
		}
	}
	if cfg.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return guard(cfg, login.Protect(mux))
}

// servesStories adds the list of stories to pages.
func servesStories(pages map[string]http.Handler, list *storylist.List, log *slog.Logger) {
	handler := list.Handler(storylist.Path, log.With("component", "stories"))
	for _, path := range []string{storylist.Path, storylist.Path + "/", storylist.FeedPath} {
		pages[path] = handler
	}
}

// serveLinks returns the page at /, which leads to all others.
func serveLinks(cfg config.HTTPConfig) http.HandlerFunc {
	links := []struct {
		path, what string
		served     bool
	}{
		{console.Path, "verdicts, articles and connections, as a page", cfg.Console},
		{inquiry.Description, "the description of " + inquiry.Path + ", " + inquiry.ChangesPath + " and " + storylist.Path,
			cfg.Look},
		{"/metrics", "for Prometheus", true},
		{"/readyz", "is every connection up, and what is wrong", true},
		{"/healthz", "does the process answer", true},
		{docs.Path, "the documentation of this version", true},
		{"/debug/pprof/", "profiles", cfg.Pprof},
	}
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"en\"><head><meta " +
		"charset=\"utf-8\"><title>Echosieve</title></head>\n<body><h1>Echosieve</h1>\n<ul>\n")
	for _, l := range links {
		if l.served { // relative: a proxy may serve the page below a prefix
			fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a>: %s</li>\n", strings.TrimPrefix(l.path, "/"), l.path, l.what)
		}
	}
	b.WriteString("</ul></body></html>\n")
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, b.String()) // a client that is gone misses nothing
	}
}

// serveHTTP serves until ctx ends, then closes the listener and returns nil. It returns an error if serving
// fails before that. A nil encryption is none.
func serveHTTP(ctx context.Context, l net.Listener, encryption *tls.Config, handler http.Handler,
	log *slog.Logger) error {
	l = netutil.LimitListener(l, maxConnections)
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: httpHeaderTimeout,
		ReadTimeout:       httpReadTimeout,
		WriteTimeout:      httpWriteTimeout,
		IdleTimeout:       httpIdleTimeout,
		MaxHeaderBytes:    httpMaxHeaderBytes,
		TLSConfig:         encryption,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: httpStreams},
		// "OPTIONS *" goes through the guard, too.
		DisableGeneralOptionsHandler: true,

		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() {
		if encryption == nil {
			failed <- server.Serve(l)
		} else {
			failed <- server.ServeTLS(l, "", "")
		}
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("http: serve: %w", err)
	case <-ctx.Done():
	}
	// Requests under way get httpShutdownTimeout to finish. ctx has ended, so the time is taken from a new context.
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), httpShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(drain); errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	} else if err != nil {
		return fmt.Errorf("http: shut down: %w", err)
	}
	return nil
}

// askTimeout bounds the question who listens at an address.
const askTimeout = 2 * time.Second

// CheckListen says whether a service could listen at the address of http.listen, with its login and
// certificates. If a service of Echosieve listens there already, that is no fault: most likely it is the one
// whose settings are checked.
func CheckListen(ctx context.Context, cfg config.HTTPConfig) diag.Finding {
	subject := "http.listen " + cfg.Listen
	if _, err := access.Load(cfg, slog.New(slog.DiscardHandler)); err != nil {
		return diag.New(diag.Failure, subject, err.Error(), "correct the file or the setting")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen)
	switch {
	case err == nil:
		_ = listener.Close()
		return diag.New(diag.OK, subject, "free", "")
	case !errors.Is(err, syscall.EADDRINUSE):
		return diag.New(diag.Failure, subject, "the service cannot listen there: "+err.Error(),
			"set http.listen to an address of this machine and a port above 1023")
	case isEchosieve(ctx, cfg):
		return diag.New(diag.Info, subject, "a service of Echosieve is running there",
			"another process on this machine needs another http.listen")
	default:
		return diag.New(diag.Failure, subject, "another program uses the port", "stop that program, or set http.listen")
	}
}

// isEchosieve asks for the metrics of whoever listens at the address.
func isEchosieve(ctx context.Context, cfg config.HTTPConfig) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := access.Ask(ctx, cfg, "/metrics")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	const most = 1 << 20
	text, _ := io.ReadAll(io.LimitReader(answer.Body, most))
	return strings.Contains(string(text), buildInfo+"{") || access.WantsLogin(answer)
}
