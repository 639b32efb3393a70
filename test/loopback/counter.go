package loopback

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// Counter counts the connections to each address that its Front returned.
type Counter map[string]*atomic.Int64

// Front returns a front that forwards connections until the test ends.
func (c Counter) Front(t testing.TB) Front {
	return func(own ...string) []string {
		var reached []string
		for _, addr := range own {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			n := new(atomic.Int64)
			go forward(l, addr, n)
			c[l.Addr().String()] = n
			reached = append(reached, l.Addr().String())
		}
		return reached
	}
}

func forward(l net.Listener, addr string, n *atomic.Int64) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		n.Add(1)
		to, err := net.Dial("tcp", addr)
		if err != nil {
			_ = from.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
			}()
		}
	}
}
