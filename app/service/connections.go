package service

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

const (
	// maxConnections bounds the connections of clients. With TLS each takes some 50 KB.
	maxConnections = 256
	// minConnections is left to clients however few descriptors the process may have.
	minConnections = 16
)

// mostConnections returns how many connections of clients there may be: a quarter of the descriptors of the
// process at most. The others are for Kafka, Redis and files.
func mostConnections() int {
	var descriptors syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &descriptors) != nil {
		return maxConnections
	}
	return int(max(min(descriptors.Cur/4, maxConnections), minConnections))
}

// connections is a listener with a limit. When there are too many connections, it closes the one that has
// waited longest: for a handshake, for a request, or between two. So a new client, such as a health probe,
// gets its turn while strangers keep connections. If all serve requests, the new one is closed. Safe for
// concurrent use.
type connections struct {
	net.Listener
	most int

	mu   sync.Mutex
	open map[*clientConn]bool
}

// clientConn is one of connections. Its fields belong to connections.mu.
type clientConn struct {
	net.Conn
	of      *connections
	serving int       // requests
	since   time.Time // when it began to wait
}

func newConnections(l net.Listener, most int) *connections {
	return &connections{Listener: l, most: most, open: map[*clientConn]bool{}}
}

// Accept implements net.Listener.
func (c *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if conn := c.admit(accepted); conn != nil {
			return conn, nil
		}
		_ = accepted.Close() // the client tries again
	}
}

// admit returns nil if there is no room.
func (c *connections) admit(accepted net.Conn) net.Conn {
	conn := &clientConn{Conn: accepted, of: c, since: time.Now()}
	c.mu.Lock()
	var oldest *clientConn
	if len(c.open) >= c.most {
		for other := range c.open {
			if other.serving == 0 && (oldest == nil || other.since.Before(oldest.since)) {
				oldest = other
			}
		}
		if oldest == nil {
			c.mu.Unlock()
			return nil
		}
		delete(c.open, oldest)
	}
	c.open[conn] = true
	c.mu.Unlock()
	if oldest != nil {
		_ = oldest.Conn.Close()
	}
	return conn
}

// Close implements net.Conn.
func (c *clientConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// serves notes that n more requests are served.
func (c *clientConn) serves(n int) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.serving += n
	c.since = time.Now()
}

type connectionKey struct{}

// withConnection puts the connection of a server into the contexts of its requests.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if encrypted, ok := c.(*tls.Conn); ok {
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// serving returns a handler that notes which connections serve requests.
func (c *connections) serving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connectionKey{}).(*clientConn); ok {
			conn.serves(1)
			defer conn.serves(-1)
		}
		next.ServeHTTP(w, r)
	})
}
