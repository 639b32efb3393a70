package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// link is the proxied way to one server, for everybody but the runner: to its port and, in a Redis Cluster, to its port
// for the other nodes as well.
type link []*toxiproxy.Proxy

// startLink puts a proxy in front of each address of a server.
func startLink(h *host, name string, upstreams ...string) (link, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	var l link
	for _, upstream := range upstreams {
		p := toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream)
		if err := p.Start(); err != nil {
			return nil, fmt.Errorf("proxy for %s: %w", name, err)
		}
		h.Cleanup(p.Stop)
		l = append(l, p)
	}
	return l, nil
}

// addr is where the others reach the server.
func (l link) addr() string { return l[0].Listen }

// addrs is where they reach all its addresses.
func (l link) addrs() []string {
	var addrs []string
	for _, p := range l {
		addrs = append(addrs, p.Listen)
	}
	return addrs
}

// network is the links to all servers of a kind, or to some of them.
type network []link

// to returns the link to the server that others reach at addr.
func (n network) to(addr string) (network, error) {
	for _, l := range n {
		if l.addr() == addr {
			return network{l}, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", addr, errNoProxy)
}

// past returns the server's own address, if addr is one that others reach it at.
func (n network) past(addr string) string {
	if l, err := n.to(addr); err == nil {
		return l[0][0].Upstream
	}
	return addr
}

// some draws links, at least one.
func (n network) some(random *rand.Rand) network {
	if len(n) < 2 {
		return n
	}
	drawn := make(network, 1+random.IntN(len(n)))
	for i, j := range random.Perm(len(n))[:len(drawn)] {
		drawn[i] = n[j]
	}
	return drawn
}

// poison does something bad to the share of the connections given, in one direction: downstream is what the servers
// answer.
func (n network) poison(kind, direction string, share float64, attributes string) error {
	toxic := fmt.Sprintf(`{"name": "%[1]s-%[2]s", "type": %[1]q, "stream": %[2]q, "toxicity": %[3]f, "attributes": {%[4]s}}`,
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

// heal takes away all that is bad.
func (n network) heal(ctx context.Context) {
	for _, l := range n {
		for _, p := range l {
			p.Toxics.ResetToxics(ctx)
		}
	}
}

// freeAddress is a loopback address that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
