package e2e

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"echosieve/test/host"
)

// registry is a schema registry that speaks the REST interface of Confluent's. Not for concurrent use.
type registry struct {
	*srfake.Registry        // holds the schemas
	Addr             string // host and port

	t      testing.TB
	server *http.Server
}

// startRegistry starts a registry without schemas; it ends with the test.
func startRegistry(t testing.TB) *registry {
	t.Helper()
	s := &registry{t: t, Registry: srfake.New(), Addr: host.Addr(host.Ports(t, 1)[0])}
	t.Cleanup(s.Close)
	s.Restart()
	t.Cleanup(s.Stop)
	return s
}

// Stop takes the registry away: its address refuses connections. Its schemas are kept.
func (s *registry) Stop() { _ = s.server.Close() }

// Restart brings the registry back.
func (s *registry) Restart() {
	s.t.Helper()
	to, err := url.Parse(s.URL())
	require.NoError(s.t, err)
	l, err := net.Listen("tcp", s.Addr)
	require.NoError(s.t, err)
	s.server = &http.Server{Handler: httputil.NewSingleHostReverseProxy(to), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }()
}
