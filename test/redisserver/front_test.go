package redisserver

import (
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// forwarders is a Front that counts the connections to each address it returned.
type forwarders map[string]*atomic.Int64

func (f forwarders) front(t *testing.T) Front {
	return func(own ...string) []string {
		var reached []string
		for _, addr := range own {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
			n := new(atomic.Int64)
			go forward(l, addr, n)
			f[l.Addr().String()] = n
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

// What servers say to each other goes through what is before them; what a test asks them does not.
func TestFront(t *testing.T) {
	t.Run("Cluster", func(t *testing.T) {
		f := forwarders{}
		c := StartClusterBehind(t, f.front(t), 1, 1)
		require.Len(t, f, 4)
		master, replica := c.Servers[0], c.Servers[1]
		require.Contains(t, c.Client(replica).Info(t.Context(), "replication").Val(), "master_port:"+portOf(master.Addr))
		for addr, n := range f {
			require.Equal(t, addr != replica.Addr, n.Load() > 0, "the replication and the gossip of both, none of ours")
		}
	})
	t.Run("Sentinel", func(t *testing.T) {
		f := forwarders{}
		c := StartSentinelBehind(t, f.front(t))
		require.Len(t, f, 5)
		_, err := c.Failover(t.Context())
		require.NoError(t, err)
		for addr, n := range f {
			require.Positive(t, n.Load(), addr)
		}
	})
}
