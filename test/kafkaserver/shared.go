package kafkaserver

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/host"
	"echosieve/test/loopback"
)

// Variable is the environment variable that names a running cluster (host:port,...) for Shared. test/servers sets it.
const Variable = "ECHOSIEVE_TEST_KAFKA"

// shared is the broker of this test binary.
var shared struct {
	main   bool // Main runs
	once   sync.Once
	host   *host.Host
	server *Server
	err    error
}

// Shared returns a broker of V4 that other tests use at the same time: the one of ECHOSIEVE_TEST_KAFKA, else
// one that the test binary starts at the first call and Main stops. Give topics, groups and transactional ids
// names that no other test uses. It may not be stopped; only its addresses are set.
func Shared(t testing.TB) *Server {
	t.Helper()
	loopback.SkipShort(t)
	if addr := os.Getenv(Variable); addr != "" {
		return &Server{Addr: addr, Reached: addr}
	}
	require.True(t, shared.main, "TestMain must call kafkaserver.Main, which stops the shared broker")
	shared.once.Do(func() {
		ctx, cancel := context.WithCancelCause(context.Background())
		shared.host = host.New(ctx, cancel)
		shared.err = shared.host.Do(func() { shared.server = Start(shared.host, V4) })
	})
	require.NoError(t, shared.err)
	return &Server{Addr: shared.server.Addr, Reached: shared.server.Reached}
}

// Main is for TestMain: it runs the tests, stops the broker that they shared, and returns the exit code. If
// the test binary dies before, the system ends the broker.
func Main(m *testing.M) int {
	shared.main = true
	code := m.Run()
	if shared.host != nil {
		shared.host.Close()
	}
	return code
}
