package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"echosieve/test/loopback"
)

// link is the proxied way to one server, for everybody but the runner: to its port and, where servers form a cluster, to
// its ports for the others as well.
type link []*toxiproxy.Proxy

// front puts a proxy in front of each address of a server, and adds the link to the network.
func (w *world) front(component string, n *network) loopback.Front {
	if w.direct() {
		return nil
	}
	return func(own ...string) (reached []string) {
		server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
		var l link
		for _, upstream := range own {
			p := toxiproxy.NewProxy(server, component, "127.0.0.1:0", upstream)
			if err := p.Start(); err != nil {
				w.host.Fatal(fmt.Errorf("proxy for %s: %w", component, err))
			}
			w.host.Cleanup(p.Stop)
			l, reached = append(l, p), append(reached, p.Listen)
		}
		*n = append(*n, l)
		return reached
	}
}

// addr is where the others reach the server.
func (l link) addr() string { return l[0].Listen }

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

// around returns all links of a broker and from it, but for those to itself. What is cut off there hears nobody, and nobody
// hears it.
func (n network) around(broker int) network {
	all := link{n[broker][0]}
	for to, l := range n {
		for from := range n {
			if (to == broker) != (from == broker) {
				all = append(all, l[1+from], l[1+len(n)+from])
			}
		}
	}
	return network{all}
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

// directions of what passes a link: downstream is what the servers answer.
var directions = []string{"upstream", "downstream"}

// poison does something bad to the share of the connections given, in one direction.
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
