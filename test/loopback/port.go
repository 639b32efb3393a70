// Package loopback gives the servers of tests their addresses, and puts something before them if a test wants that.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports returns different ports that nobody listens on. They lie below the range from which systems take the ports of
// outgoing connections: a server that is killed must find its port free when it is started again. Until the test ends,
// a UDP socket keeps each from the other callers, for it takes a while until a cluster listens.
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

// SkipShort skips a test that starts servers under go test -short. It does nothing outside of tests.
func SkipShort(t testing.TB) {
	t.Helper()
	if testing.Testing() && testing.Short() {
		t.Skip("starts servers: not with -short")
	}
}

// Addr is the address of a port.
func Addr(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
