package service

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serveLimited serves a page, and one that waits until release is closed, with at most a number of connections.
func serveLimited(t *testing.T, most int) (address string, c *connections, release chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c, release = newConnections(l, most), make(chan struct{})
	server := &http.Server{ConnContext: withConnection,
		Handler: c.serving(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				<-release
			}
			fmt.Fprint(w, "page")
		}))}
	go func() { _ = server.Serve(c) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String(), c, release
}

// get asks with a connection of its own.
func getOnce(address, path string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + address + path)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// Strangers who keep connections, with and without requests, take neither the turn of a health probe nor more
// descriptors than the limit.
func TestConnectionsAreBounded(t *testing.T) {
	const most = 8
	address, c, release := serveLimited(t, most)
	slow := make(chan error, most)
	for range most / 2 {
		go func() { slow <- getOnce(address, "/slow") }()
	}
	serving := func(n int) func() bool {
		return func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			all := 0
			for conn := range c.open {
				all += conn.serving
			}
			return all == n
		}
	}
	require.Eventually(t, serving(most/2), time.Minute, time.Millisecond)
	for i := range 10 * most {
		stranger, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = stranger.Close() })
		switch i % 3 {
		case 1:
			_, _ = io.WriteString(stranger, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") // and keeps it
		case 2:
			_, _ = io.WriteString(stranger, "GET / HT")
		}
		require.NoError(t, getOnce(address, "/"), "a probe")
		c.mu.Lock()
		require.LessOrEqual(t, len(c.open), most)
		c.mu.Unlock()
	}
	close(release)
	for range most / 2 {
		require.NoError(t, <-slow, "a connection that serves a request stays")
	}

	address, c, release = serveLimited(t, 1)
	go func() { slow <- getOnce(address, "/slow") }()
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for conn := range c.open {
			return conn.serving == 1
		}
		return false
	}, time.Minute, time.Millisecond)
	require.Error(t, getOnce(address, "/"), "no room")
	close(release)
	require.NoError(t, <-slow)
	require.Eventually(t, func() bool { return getOnce(address, "/") == nil }, time.Minute, time.Millisecond)
	require.LessOrEqual(t, mostConnections(), maxConnections)
}

// "OPTIONS *" passes the guard, which knows the names of the listener.
func TestOptionsOfTheServerPassTheGuard(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- serveHTTP(ctx, l, (*tls.Config)(nil), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Host, http.StatusMisdirectedRequest)
		}), slog.New(slog.DiscardHandler))
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	_, err = io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: stranger.example\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "421")
	end()
	require.NoError(t, <-ended)
}
