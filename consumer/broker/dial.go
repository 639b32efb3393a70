package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
)

// ClientID is the name that brokers show in logs and quotas.
const ClientID = "echosieve"

const (
	// dialTimeout bounds connecting, TLS and login together.
	dialTimeout = 10 * time.Second
	// answerTimeout bounds a small request that any broker can answer. It is short, so that another broker is
	// tried soon.
	answerTimeout = 3 * time.Second
)

// wrongPort is the remedy for an address where no broker answers but a server of another kind.
const wrongPort = "set kafka.brokers to the brokers, port 9092 as a rule"

// answered holds the addresses where a broker has answered.
type answered struct{ sync.Map }

// dials returns a function that dials, with TLS if the settings say so. Before kafka-go reads from an address for the
// first time, the server there must answer as a broker does: kafka-go panics at the answers of Redis, and allocates
// what those of a web server claim. always asks before each connection.
func (a *answered) dials(d dialer, always bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		_, asked := a.Load(address)
		if !asked || always {
			if err := probe(ctx, d, network, address, ClientID); err != nil {
				if !asked {
					err = otherKind(ctx, address, err)
				}
				return nil, err
			}
			a.Store(address, true)
		}
		return d.DialContext(ctx, network, address)
	}
}

// otherKind returns a *diag.Problem if a server that has not answered as a broker speaks another protocol, else the
// error. Speaks asks without TLS.
func otherKind(ctx context.Context, address string, err error) error {
	var refused *net.OpError
	if errors.As(err, &refused) && refused.Op == "dial" {
		return err
	}
	speaks := diag.Speaks(ctx, address)
	if speaks != diag.SpeaksRedis && speaks != diag.SpeaksHTTP {
		return err
	}
	return diag.Lasting(address+" speaks "+speaks+", not Kafka", wrongPort, err)
}

// dialer is a net.Dialer, or a tls.Dialer.
type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// probe opens a connection only to check that the broker answers. kafka-go v0.4.51 needs this check: to find
// the group's coordinator it always takes the first of kafka.brokers that accepts a connection, and it logs
// in without a deadline. The operating system also accepts connections for a process that hangs, so one
// hanging broker would keep every member from joining. Connections with TLS need it once only: a hanging broker
// does not answer the handshake, and kafka-go bounds the handshake.
func probe(ctx context.Context, d dialer, network, address, clientID string) error {
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	return wire.Probe(conn, clientID)
}

// probeTLS probes a broker with TLS, or without it if config is nil.
func probeTLS(ctx context.Context, addr string, config *tls.Config, clientID string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var d dialer = new(net.Dialer)
	if config != nil {
		d = &tls.Dialer{Config: config}
	}
	return probe(ctx, d, "tcp", addr, clientID)
}
