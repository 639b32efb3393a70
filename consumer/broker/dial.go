package broker

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
)

// wrongPort is the remedy for an address where no broker answers but a server of another kind.
const wrongPort = "set kafka.brokers to the brokers, port 9092 as a rule"

// guarded returns a function that dials, with TLS if the settings say so, and checks what the server sends
// before kafka-go reads it.
func (c *Cluster) guarded(tcp *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	var d dialer = tcp
	if c.tls != nil {
		d = &tls.Dialer{NetDialer: tcp, Config: c.tls}
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return diag.GuardKafka(conn, address, wrongPort), nil
	}
}

// dialer is a net.Dialer, or a tls.Dialer.
type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// probe opens a connection only to check that the broker answers. kafka-go v0.4.51 needs this check: to find
// the group's coordinator it always takes the first of kafka.brokers that accepts a connection, and it logs
// in without a deadline. The operating system also accepts connections for a process that hangs, so one
// hanging broker would keep every member from joining. Connections with TLS need no probe: a hanging broker
// does not answer the handshake, and kafka-go bounds the handshake.
func probe(ctx context.Context, d dialer, network, address, clientID string) error {
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(AnswerTimeout)); err != nil {
		return err
	}
	return wire.Probe(conn, clientID)
}

// probeTLS probes a broker with TLS, or without it if config is nil.
func probeTLS(ctx context.Context, addr string, config *tls.Config, clientID string) error {
	ctx, cancel := context.WithTimeout(ctx, AnswerTimeout)
	defer cancel()
	var d dialer = new(net.Dialer)
	if config != nil {
		d = &tls.Dialer{Config: config}
	}
	return probe(ctx, d, "tcp", addr, clientID)
}
