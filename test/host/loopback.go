package host

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"
)

// Ports returns n different ports that nobody listens on. The ports lie below the range that systems use for
// outgoing connections: a server that is killed must find its port free when it is started again. A UDP
// socket reserves each port until the test ends, because other callers of Ports may look for ports before the
// server listens.
func Ports(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		port := 12_000 + rand.IntN(20_000)
		err := reserve(t, port)
		if err == nil {
			ports = append(ports, port)
		} else if tries > 100*n {
			t.Fatalf("no free port: %v", err)
		}
	}
	return ports
}

func reserve(t testing.TB, port int) error {
	var config net.ListenConfig
	held, err := config.ListenPacket(t.Context(), "udp", Addr(port))
	if err != nil {
		return err
	}
	l, err := config.Listen(t.Context(), "tcp", Addr(port))
	if err != nil {
		_ = held.Close()
		return err
	}
	t.Cleanup(func() { _ = held.Close() })
	return l.Close()
}

// SkipShort skips a test under go test -short, because the test starts servers. Outside of tests it does nothing.
func SkipShort(t testing.TB) {
	t.Helper()
	if testing.Testing() && testing.Short() {
		t.Skip("starts servers: not with -short")
	}
}

// Addr is the address of a port.
func Addr(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// Get returns status and body of a page. The server must answer within the limit.
func Get(ctx context.Context, url string, limit time.Duration) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// Front puts a proxy in front of each address of one server and returns the addresses of the proxies. The
// server announces these addresses: clients, and the servers that replicate or watch it, use them. A nil
// Front puts nothing in front of a server.
type Front func(own ...string) []string

// Before returns the addresses at which clients and other servers reach the ports of a server.
func (f Front) Before(ports ...int) []string {
	addrs := make([]string, len(ports))
	for i, port := range ports {
		addrs[i] = Addr(port)
	}
	if f == nil {
		return addrs
	}
	return f(addrs...)
}
