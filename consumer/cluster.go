package consumer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/base/diag"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

const (
	// dialTimeout bounds connecting, TLS and login together.
	dialTimeout = 10 * time.Second
	// requestTimeout bounds a request that the broker answers at once.
	requestTimeout = wire.RequestTimeout
	// answerTimeout bounds a small request that any broker can answer. It is short, so that another broker is
	// tried soon.
	answerTimeout = 3 * time.Second
	// metadataTTL is the greatest age of the transport's metadata. After a leader has moved, requests fail
	// for up to this time.
	metadataTTL = time.Second
)

// cluster is a Kafka cluster and the ways to reach it: kafka-go's transport for requests, the dialer of
// kafka-go's consumer group, and the requests of package wire. Safe for concurrent use.
type cluster struct {
	cfg    Config
	dialer *kafka.Dialer
	tls    *tls.Config // nil: without TLS
	client *kafka.Client
	wire   *wire.Client
	codec  wire.Codec // of published batches
}

// clientID is the name that brokers show in logs and quotas.
const clientID = "echosieve"

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
	tcp := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	c := &cluster{cfg: cfg, tls: tlsConfig}
	c.codec, _ = wire.CodecNamed(cfg.Compression) // Validate has checked the name
	transport := &kafka.Transport{
		Dial:           c.guarded(tcp),
		DialTimeout:    dialTimeout,
		MetadataTTL:    metadataTTL,
		MetadataTopics: topics,
		ClientID:       clientID,
		SASL:           mechanism,
	}
	c.dialer = &kafka.Dialer{
		ClientID: clientID, Timeout: dialTimeout, DualStack: true, SASLMechanism: mechanism,
		DialFunc: func(ctx context.Context, network, address string) (net.Conn, error) {
			if tlsConfig == nil {
				if err := probe(ctx, tcp, network, address, clientID); err != nil {
					return nil, err
				}
			}
			return c.guarded(tcp)(ctx, network, address)
		},
	}
	addr := kafka.TCP(cfg.Brokers...)
	c.client = &kafka.Client{Addr: addr, Timeout: requestTimeout, Transport: transport}
	c.wire = &wire.Client{Transport: transport, Addr: addr, ClientID: clientID}
	return c, nil
}

// close drops idle connections; requests under way end on their own.
func (c *cluster) close() { c.wire.Transport.CloseIdleConnections() }

// ping makes one round trip to any broker.
func (c *cluster) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := c.client.ApiVersions(ctx, &kafka.ApiVersionsRequest{})
	return explain(err)
}

// explainClosed finds out why the brokers close connections, or do not answer: perhaps they are no brokers. A
// listener that expects a login closes the connection without an answer, and so does a listener that does not
// expect TLS: the error alone cannot tell the two apart. The request for protocol versions can: a listener
// that expects a login answers it before the login.
func (c *cluster) explainClosed(ctx context.Context, err error) error {
	if !diag.IsClosed(err) && !diag.IsTimeout(err) {
		return err
	}
	for _, addr := range c.cfg.Brokers {
		switch speaks := diag.Speaks(ctx, addr); speaks {
		case diag.SpeaksController:
			return &diag.Problem{Cause: addr + " is the port of a controller",
				Remedy: "set kafka.brokers to a listener for clients, port 9092 as a rule", Err: err, Permanent: true}
		case diag.SpeaksRedis, diag.SpeaksHTTP:
			return &diag.Problem{Cause: addr + " speaks " + speaks + ", not Kafka", Remedy: wrongPort, Err: err,
				Permanent: true}
		}
		switch {
		case probeTLS(ctx, addr, c.tls, clientID) == nil:
			if c.cfg.SASL.Mechanism != "" {
				return err
			}
			return &diag.Problem{
				Cause:  "the listener wants a login (SASL)",
				Remedy: "set kafka.sasl.mechanism, kafka.sasl.username and a password",
				Err:    err, Permanent: true,
			}
		case c.tls != nil && probeTLS(ctx, addr, nil, clientID) == nil:
			return broker.NotTLS(err)
		}
	}
	return err
}

// rootCause replaces the error "topic not found" if no broker was ever reached. kafka-go's transport then
// knows no topics, and hides the reason. A metadata request for no topics returns the reason.
func (c *cluster) rootCause(ctx context.Context, err error) error {
	if !errors.Is(err, protocol.ErrNoTopic) {
		return err
	}
	if _, cause := c.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}}); cause != nil {
		return cause
	}
	return err
}

// partitions returns the number of partitions of a topic, from metadata at most metadataTTL old.
func (c *cluster) partitions(ctx context.Context, topic string) (int, error) {
	m, err := c.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return 0, err
	}
	if len(m.Topics) != 1 {
		return 0, protocol.NewErrNoTopic(topic)
	}
	if m.Topics[0].Error != nil {
		return 0, fmt.Errorf("%s: %w", topic, m.Topics[0].Error)
	}
	if len(m.Topics[0].Partitions) == 0 {
		return 0, protocol.NewErrNoTopic(topic)
	}
	return len(m.Topics[0].Partitions), nil
}

// offsets returns the first offset that the broker has, and the offset after the last record.
func (c *cluster) offsets(ctx context.Context, topic string, partition int32) (first, last int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := c.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{
		topic: {kafka.FirstOffsetOf(int(partition)), kafka.LastOffsetOf(int(partition))},
	}})
	if err != nil {
		return 0, 0, c.rootCause(ctx, err)
	}
	for _, p := range res.Topics[topic] {
		if p.Partition == int(partition) {
			return p.FirstOffset, p.LastOffset, p.Error
		}
	}
	return 0, 0, protocol.NewErrNoPartition(topic, partition)
}

// moveToEnds sets the offset of each position to the end of its log, records of open transactions included.
func (c *cluster) moveToEnds(ctx context.Context, positions []Position) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{}, IsolationLevel: kafka.ReadUncommitted}
	for _, p := range positions {
		req.Topics[p.Topic] = append(req.Topics[p.Topic], kafka.LastOffsetOf(int(p.Partition)))
	}
	res, err := c.client.ListOffsets(ctx, req)
	if err != nil {
		return c.rootCause(ctx, err)
	}
	for i := range positions {
		p := &positions[i]
		at := slices.IndexFunc(res.Topics[p.Topic],
			func(o kafka.PartitionOffsets) bool { return o.Partition == int(p.Partition) })
		if at < 0 {
			return protocol.NewErrNoPartition(p.Topic, p.Partition)
		}
		if err := res.Topics[p.Topic][at].Error; err != nil {
			return fmt.Errorf("%s/%d: %w", p.Topic, p.Partition, err)
		}
		p.Offset = res.Topics[p.Topic][at].LastOffset
	}
	return nil
}

// fetch asks the partition's leader for committed records from offset on. The caller calls release when it no
// longer uses the response. Errors of the broker are kafka.Error.
func (c *cluster) fetch(ctx context.Context, l *limiter, topic string, partition int32, offset int64) (
	res *wire.FetchResponse, release func(), err error) {
	return c.fetchWith(ctx, l, wire.FetchRequest{Topic: topic, Partition: partition, Offset: offset,
		MaxWait: c.cfg.FetchMaxWait})
}

// tailWait is how long a broker may hold back the answer to fetchTail while there is nothing new.
const tailWait = 100 * time.Millisecond

// fetchTail is fetch for records that need not be committed.
func (c *cluster) fetchTail(ctx context.Context, l *limiter, topic string, partition int32, offset int64) (
	res *wire.FetchResponse, release func(), err error) {
	return c.fetchWith(ctx, l, wire.FetchRequest{Topic: topic, Partition: partition, Offset: offset,
		MaxWait: tailWait, Uncommitted: true})
}

// fetchWith completes the request with the limits of memory, and sends it.
func (c *cluster) fetchWith(ctx context.Context, l *limiter, r wire.FetchRequest) (res *wire.FetchResponse,
	release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	memory := &responsePermit{limiter: l}
	r.MaxBytes, r.MaxResponse = min(c.cfg.FetchMaxBytes, int(l.maxResponses)), c.cfg.maxFetchBytes()
	r.Reserve = func(n int64) error { return memory.acquire(ctx, n) }
	res, err = c.wire.Fetch(ctx, r)
	if err != nil {
		memory.release()
		return nil, nil, c.rootCause(ctx, err)
	}
	return res, memory.release, nil
}

// topic asks a broker about one topic, past the transport's cache. If the topic does not exist, the error is
// kafka.UnknownTopicOrPartition.
func (c *cluster) topic(ctx context.Context, name string) (wire.Topic, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m, err := c.wire.Metadata(ctx, name)
	switch {
	case err != nil:
		return wire.Topic{}, err
	case len(m.Topics) != 1:
		return wire.Topic{}, fmt.Errorf("the broker sent metadata of %d topics, one was requested", len(m.Topics))
	}
	return m.Topics[0], m.Topics[0].Err
}

// metadata asks a broker about topics, past the transport's cache.
func (c *cluster) metadata(ctx context.Context, topics []string) (*wire.Metadata, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return c.wire.Metadata(ctx, topics...)
}
