// Package registryserver starts a schema registry for tests, which can go away and come back on its address.
package registryserver

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"echosieve/test/loopback"
)

// Server is a schema registry that speaks the REST interface of Confluent's. Not for concurrent use.
type Server struct {
	*srfake.Registry        // holds the schemas
	Addr             string // host and port

	t      testing.TB
	server *http.Server
}

// Start starts a registry without schemas; it ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, Registry: srfake.New(), Addr: loopback.Addr(loopback.Ports(t, 1)[0])}
	t.Cleanup(s.Close)
	s.Restart()
	t.Cleanup(s.Stop)
	return s
}

// Stop takes the registry away: its address refuses connections. Its schemas are kept.
func (s *Server) Stop() { _ = s.server.Close() }

// Restart brings the registry back.
func (s *Server) Restart() {
	s.t.Helper()
	to, err := url.Parse(s.URL())
	require.NoError(s.t, err)
	l, err := net.Listen("tcp", s.Addr)
	require.NoError(s.t, err)
	s.server = &http.Server{Handler: httputil.NewSingleHostReverseProxy(to), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }()
}
