package consumer

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

const (
	// dialTimeout bounds connecting, TLS and login together.
	dialTimeout = 10 * time.Second
	// answerTimeout bounds small requests that another broker could answer as well.
	answerTimeout = 3 * time.Second
	// metadataTTL is how old the known partition leaders can be: recovery from a moved leader takes as long.
	metadataTTL = time.Second
	// requestTimeout bounds a request that the broker answers at once.
	requestTimeout = 15 * time.Second
)

// cluster bundles the two ways kafka-go connects: a transport for requests, a dialer for the group.
type cluster struct {
	cfg       Config
	addr      net.Addr
	transport *kafka.Transport
	dialer    *kafka.Dialer
	client    *kafka.Client
	codec     int16 // of published batches
}

// newCluster reads certificate files; it does not dial. The caller closes the cluster.
func newCluster(cfg Config, topics ...string) (*cluster, error) {
	tlsConfig, err := cfg.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("kafka.%w", err)
	}
	mechanism, err := cfg.SASL.load()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	c := &cluster{cfg: cfg, addr: kafka.TCP(cfg.Brokers...), codec: int16(slices.Index(codecs, cfg.Compression))}
	c.transport = &kafka.Transport{
		Dial:           dialer.DialContext,
		DialTimeout:    dialTimeout,
		MetadataTTL:    metadataTTL,
		MetadataTopics: topics,
		ClientID:       cfg.ClientID,
		TLS:            tlsConfig,
		SASL:           mechanism,
	}
	c.dialer = &kafka.Dialer{
		ClientID: cfg.ClientID, Timeout: dialTimeout, DualStack: true, TLS: tlsConfig, SASLMechanism: mechanism,
	}
	if tlsConfig == nil {
		c.dialer.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if err := answers(ctx, dialer, network, address, cfg.ClientID); err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, address)
		}
	}
	c.client = &kafka.Client{Addr: c.addr, Timeout: requestTimeout, Transport: c.transport}
	return c, nil
}

// dialer is a net.Dialer, or a tls.Dialer.
type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// answers makes sure that a broker answers, on a connection of its own. To find the group's coordinator, kafka-go asks the first of
// kafka.brokers that it can connect to, every time, and logs in without a deadline. The system accepts connections for
// a process that hangs as well: one broker that hung would keep everybody from joining. A TLS handshake shows it too, and
// kafka-go bounds that.
func answers(ctx context.Context, d dialer, network, address, clientID string) error {
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	_, err = protocol.RoundTrip(conn, 0, correlationID, clientID, &apiversions.Request{})
	return err
}

// close drops idle connections; requests under way end on their own.
func (c *cluster) close() { c.transport.CloseIdleConnections() }

func (s SASL) load() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "":
		return nil, nil
	case "plain":
		return plain.Mechanism{Username: s.Username, Password: s.Password}, nil
	case "scram-sha-256":
		return wrapSASL(scram.Mechanism(scram.SHA256, s.Username, s.Password))
	default:
		return wrapSASL(scram.Mechanism(scram.SHA512, s.Username, s.Password))
	}
}

func wrapSASL(m sasl.Mechanism, err error) (sasl.Mechanism, error) {
	if err != nil {
		return nil, fmt.Errorf("kafka.sasl: %w", err)
	}
	return m, nil
}
