package broker

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
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
			if err := probe(ctx, d, network, address); err != nil {
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
func probe(ctx context.Context, d dialer, network, address string) error {
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	return wire.Probe(conn, ClientID)
}

// probeTLS probes a broker with TLS, or without it if config is nil.
func probeTLS(ctx context.Context, addr string, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var d dialer = new(net.Dialer)
	if config != nil {
		d = &tls.Dialer{Config: config}
	}
	return probe(ctx, d, "tcp", addr)
}

// groupConn is a connection of kafka-go's consumer group. kafka-go v0.4.51 calls its subscription version 1, and leaves
// out the list of owned partitions that this version has: a Java client that leads the group ends with a SchemaException.
// What kafka-go sends is version 0, and so it is named here.
type groupConn struct{ net.Conn }

// Write implements net.Conn. kafka-go writes the beginning of each request at once.
func (c groupConn) Write(p []byte) (int, error) {
	if at := subscription(p); at > 0 {
		p = bytes.Clone(p)
		binary.BigEndian.PutUint16(p[at:], 0)
	}
	return c.Conn.Write(p)
}

// subscription returns where the version of the first subscription stands in a JoinGroup request of version 1 or 2; 0:
// p is another request.
func subscription(p []byte) int {
	const header = 12 // size, key, version, correlation
	if len(p) < header || kmsg.Key(binary.BigEndian.Uint16(p[4:])) != kmsg.JoinGroup {
		return 0
	}
	if version := binary.BigEndian.Uint16(p[6:]); version != 1 && version != 2 {
		return 0
	}
	r := kbin.Reader{Src: p[header:]}
	_, _ = r.NullableString(), r.String() // client id, group
	_ = r.Int64()                         // session and rebalance timeouts
	_, _ = r.String(), r.String()         // member id, type
	_ = r.Int32()                         // number of protocols
	_ = r.String()                        // name
	_ = r.Int32()                         // length
	if !r.Ok() || len(r.Src) < 2 {
		return 0
	}
	return len(p) - len(r.Src)
}
