package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"echosieve/test/host"
)

// Link is the way to one server that the service processes and the other servers use: a proxy in front of its
// port and, where servers form a cluster, in front of each of its ports for the other servers. The runner
// itself goes past the proxies.
type Link []*toxiproxy.Proxy

// Front returns a front that puts a proxy before each address of a server and adds the link to the network.
// The test ends the proxies.
func (n *Network) Front(t testing.TB, component string) host.Front {
	return func(own ...string) (reached []string) {
		server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
		var l Link
		for _, upstream := range own {
			p := toxiproxy.NewProxy(server, component, "127.0.0.1:0", upstream)
			if err := p.Start(); err != nil {
				t.Fatalf("proxy for %s: %v", component, err)
			}
			t.Cleanup(p.Stop)
			l, reached = append(l, p), append(reached, p.Listen)
		}
		*n = append(*n, l)
		return reached
	}
}

// Addr is the address at which clients reach the server through the proxy.
func (l Link) Addr() string { return l[0].Listen }

// Network is the links to all servers of a kind, or to some of them. The links of brokers have the order of
// the brokers.
type Network []Link

// ErrNoProxy says that there is no proxy in front of a server.
var ErrNoProxy = errors.New("there is no proxy in front of this server")

// To returns the link to the server that clients reach at addr.
func (n Network) To(addr string) (Network, error) {
	for _, l := range n {
		if l.Addr() == addr {
			return Network{l}, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", addr, ErrNoProxy)
}

// Around returns all links to a broker and from it to the other brokers. A broker that is cut off there hears
// nobody, and nobody hears it. Of the proxies of a broker, the first is for clients, then comes one for each
// broker that replicates from it, then one for each broker that speaks to its controller.
func (n Network) Around(broker int) Network {
	all := Link{n[broker][0]}
	for to, l := range n {
		for from := range n {
			if (to == broker) != (from == broker) {
				all = append(all, l[1+from], l[1+len(n)+from])
			}
		}
	}
	return Network{all}
}

// Past returns the server's own address if addr is the address of a proxy, else addr.
func (n Network) Past(addr string) string {
	if l, err := n.To(addr); err == nil {
		return l[0][0].Upstream
	}
	return addr
}

// Directions are those of the data that pass a link: requests go upstream, replies downstream.
var Directions = []string{"upstream", "downstream"}

// AddToxic adds a toxic of Toxiproxy to each link: its kind and JSON attributes are those of Toxiproxy's
// documentation. It affects one direction of a share (0 to 1) of the connections.
func (n Network) AddToxic(kind, direction string, share float64, attributes string) error {
	toxic := fmt.Sprintf(
		`{"name": "%[1]s-%[2]s", "type": %[1]q, "stream": %[2]q, "toxicity": %[3]f, "attributes": {%[4]s}}`,
		kind, direction, share, attributes)
	var errs []error
	for _, l := range n {
		for _, p := range l {
			_, err := p.Toxics.AddToxicJson(strings.NewReader(toxic))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// RemoveToxics removes all toxics.
func (n Network) RemoveToxics(ctx context.Context) {
	for _, l := range n {
		for _, p := range l {
			p.Toxics.ResetToxics(ctx)
		}
	}
}

// Cut cuts the links in these directions: connections stay open, but nothing passes. It returns a proof, or
// an error if a server still answered.
func (n Network) Cut(ctx context.Context, component string, directions ...string) (proof string, err error) {
	for _, direction := range directions {
		if err := n.AddToxic("timeout", direction, 1, `"timeout": 0`); err != nil {
			return "", err
		}
	}
	if answers := n.Probe(ctx, component, time.Second); answers > 0 {
		return "", fmt.Errorf("%d of %d servers answered", answers, len(n))
	}
	return fmt.Sprintf("%s: no answer (servers: %d)", strings.Join(directions, " and "), len(n)), nil
}

// Probe asks all servers at the same time for a sign of life, and returns how many answered.
func (n Network) Probe(ctx context.Context, component string, limit time.Duration) int {
	var answers atomic.Int32
	var asking sync.WaitGroup
	for _, l := range n {
		asking.Go(func() {
			if Probe(ctx, component, l.Addr(), limit) == nil {
				answers.Add(1)
			}
		})
	}
	asking.Wait()
	return int(answers.Load())
}

// Probe asks a server ("redis" or "kafka") for a sign of life over a new connection, within the limit.
func Probe(ctx context.Context, component, addr string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if component == "redis" {
		client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: limit,
			ContextTimeoutEnabled: true})
		defer client.Close()
		return client.Ping(ctx).Err()
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	_ = conn.SetDeadline(end)
	// A request ApiVersions version 0, without a client id, written by hand: a client library would retry by itself.
	if _, err := conn.Write([]byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 8))
	return err
}

// CheckRefused checks that nobody listens at the address, and returns the proof.
func CheckRefused(ctx context.Context, addr string) (proof string, err error) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return "", fmt.Errorf("the connection was not refused: %w", err)
	}
	return "connection refused", nil
}
