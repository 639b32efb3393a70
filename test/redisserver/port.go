package redisserver

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// freePort returns a port that nobody listens on. It lies below the range from which systems take the ports of
// outgoing connections: a server that is killed must find its port free when it is started again.
func freePort(t testing.TB) int {
	t.Helper()
	var err error
	for range 100 {
		port := 12_000 + rand.IntN(20_000)
		var l net.Listener
		if l, err = net.Listen("tcp", address(port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatalf("no free port: %v", err)
	return 0
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
