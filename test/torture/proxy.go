package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// link is a proxied way from the service processes to a server. The runner itself takes the direct way.
type link struct{ proxy *toxiproxy.Proxy }

// startLink puts a proxy in front of upstream.
func startLink(h *host, name, upstream string) (*link, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	l := &link{toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream)}
	if err := l.proxy.Start(); err != nil {
		return nil, fmt.Errorf("proxy for %s: %w", name, err)
	}
	h.Cleanup(l.proxy.Stop)
	return l, nil
}

// addr is where the processes connect to.
func (l *link) addr() string { return l.proxy.Listen }

// poison does something bad to the share of the connections given, in one direction: downstream is what the server
// answers.
func (l *link) poison(kind, direction string, share float64, attributes string) error {
	_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"name": "%[1]s-%[2]s", "type": %[1]q, "stream": %[2]q, "toxicity": %[3]f, "attributes": {%[4]s}}`, kind, direction, share, attributes)))
	return err
}

// heal takes away all that is bad.
func (l *link) heal(ctx context.Context) { l.proxy.Toxics.ResetToxics(ctx) }

// freeAddress is a loopback address that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
