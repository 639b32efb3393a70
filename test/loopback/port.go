// Package loopback gives the servers of tests their addresses, and puts something before them if a test wants that.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports returns different ports that nobody listens on. They lie below the range from which systems take the ports of
// outgoing connections: a server that is killed must find its port free when it is started again.
func Ports(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	var err error
	for tries := 0; len(ports) < n; tries++ {
		if tries > 100*n {
			t.Fatalf("no free port: %v", err)
		}
		port := 12_000 + rand.IntN(20_000)
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(t.Context(), "tcp", Addr(port)); err == nil {
			defer func() { _ = l.Close() }() // not before all are drawn, so that none is drawn twice
			ports = append(ports, port)
		}
	}
	return ports
}

// Addr is the address of a port.
func Addr(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
