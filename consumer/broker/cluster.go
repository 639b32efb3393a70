// Package broker reaches a Kafka cluster for all of consumer: its settings, connections and requests, the memory that
// answers may take, topics and their settings, and what brokers' errors mean. It knows of consumer groups who is in
// them and what they have committed (ConsumerGroup), and nothing of how outputs are delivered.
package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

const (
	// RequestTimeout bounds a request that the broker answers at once.
	RequestTimeout = wire.RequestTimeout
	// SettleTimeout is how long new topics, and the group coordinator of a new cluster, may take until they answer.
	SettleTimeout = 15 * time.Second
	// metadataTTL is the greatest age of the transport's metadata. After a leader has moved, requests fail
	// for up to this time.
	metadataTTL = time.Second
)

// Cluster is a Kafka cluster and the ways to reach it. Safe for concurrent use.
type Cluster struct {
	Config Config
	Client *kafka.Client // the requests of kafka-go
	Wire   *wire.Client  // the requests of package wire, over the same connections
	Dialer *kafka.Dialer // of kafka-go's consumer group
	Codec  wire.Codec    // of published batches

	tls *tls.Config // nil: without TLS
}

// New returns a cluster whose leaders of the given topics are known to requests. It reads certificate files and does
// not dial. The caller closes the cluster.
func New(cfg Config, topics ...string) (*Cluster, error) {
	tlsConfig, err := cfg.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("kafka.%w", err)
	}
	mechanism, err := cfg.SASL.load(cfg.TLS.CAFile)
	if err != nil {
		return nil, err
	}
	var d dialer = &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	if tlsConfig != nil {
		d = &tls.Dialer{NetDialer: d.(*net.Dialer), Config: tlsConfig}
	}
	c := &Cluster{Config: cfg, tls: tlsConfig}
	var known answered
	c.Codec, _ = wire.CodecNamed(cfg.Compression) // Validate has checked the name
	transport := &kafka.Transport{
		Dial:           known.dials(d, false),
		DialTimeout:    dialTimeout,
		MetadataTTL:    metadataTTL,
		MetadataTopics: topics,
		ClientID:       ClientID,
		SASL:           mechanism,
	}
	c.Dialer = &kafka.Dialer{
		ClientID: ClientID, Timeout: dialTimeout, DualStack: true, SASLMechanism: mechanism,
	}
	dial := known.dials(d, tlsConfig == nil)
	c.Dialer.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return groupConn{conn}, err
	}
	addr := kafka.TCP(cfg.Brokers...)
	c.Client = &kafka.Client{Addr: addr, Timeout: RequestTimeout, Transport: transport}
	c.Wire = &wire.Client{Transport: transport, Addr: addr, ClientID: ClientID}
	return c, nil
}

// Close drops idle connections; requests under way end on their own.
func (c *Cluster) Close() { c.Wire.Transport.CloseIdleConnections() }

// Ping makes one round trip to any broker.
func (c *Cluster) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	_, err := c.Client.ApiVersions(ctx, &kafka.ApiVersionsRequest{})
	return Explain(err)
}

// ExplainClosed finds out why the brokers close connections, or do not answer. A listener that expects a login closes
// the connection without an answer, and so does a listener that does not expect TLS: the error alone cannot tell the
// two apart. The request for protocol versions can: a listener that expects a login answers it before the login.
func (c *Cluster) ExplainClosed(ctx context.Context, err error) error {
	if !diag.IsClosed(err) && !diag.IsTimeout(err) && !errors.Is(err, wire.ErrNotOffered) {
		return err
	}
	for _, addr := range c.Config.Brokers {
		if diag.Speaks(ctx, addr) == diag.SpeaksController {
			return diag.Lasting(addr+" is the port of a controller",
				"set kafka.brokers to a listener for clients, port 9092 as a rule", err)
		}
		switch {
		case probeTLS(ctx, addr, c.tls) == nil:
			if c.Config.SASL.Mechanism != "" {
				return err
			}
			return diag.Lasting("the listener wants a login (SASL)",
				"set kafka.sasl.mechanism, kafka.sasl.username and a password", err)
		case c.tls != nil && probeTLS(ctx, addr, nil) == nil:
			return server.NotTLS(err)
		}
	}
	return err
}

// RootCause replaces the error "topic not found" if no broker was ever reached. kafka-go's transport then
// knows no topics, and hides the reason. A metadata request for no topics returns the reason.
func (c *Cluster) RootCause(ctx context.Context, err error) error {
	if !errors.Is(err, protocol.ErrNoTopic) {
		return err
	}
	if _, cause := c.Client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}}); cause != nil {
		return cause
	}
	return err
}
