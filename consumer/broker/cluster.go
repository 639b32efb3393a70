// Package broker reaches a Kafka cluster for all of consumer: its settings, connections and requests, the memory that
// answers may take, topics and their settings, and what brokers' errors mean. It knows no consumer group but for the
// offsets that one has committed (Commit), and nothing of how outputs are delivered.
package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

const (
	// dialTimeout bounds connecting, TLS and login together.
	dialTimeout = 10 * time.Second
	// RequestTimeout bounds a request that the broker answers at once.
	RequestTimeout = wire.RequestTimeout
	// AnswerTimeout bounds a small request that any broker can answer. It is short, so that another broker is
	// tried soon.
	AnswerTimeout = 3 * time.Second
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

	tls   *tls.Config // nil: without TLS
	asked sync.Map    // addresses where a broker has answered
}

// ClientID is the name that brokers show in logs and quotas.
const ClientID = "echosieve"

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
	c.Codec, _ = wire.CodecNamed(cfg.Compression) // Validate has checked the name
	transport := &kafka.Transport{
		Dial:           c.dials(d, false),
		DialTimeout:    dialTimeout,
		MetadataTTL:    metadataTTL,
		MetadataTopics: topics,
		ClientID:       ClientID,
		SASL:           mechanism,
	}
	c.Dialer = &kafka.Dialer{
		ClientID: ClientID, Timeout: dialTimeout, DualStack: true, SASLMechanism: mechanism,
	}
	dial := c.dials(d, tlsConfig == nil)
	c.Dialer.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return groupConn{conn}, nil
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
			return &diag.Problem{
				Cause:  addr + " is the port of a controller",
				Remedy: "set kafka.brokers to a listener for clients, port 9092 as a rule", Err: err, Permanent: true,
			}
		}
		switch {
		case probeTLS(ctx, addr, c.tls, ClientID) == nil:
			if c.Config.SASL.Mechanism != "" {
				return err
			}
			return &diag.Problem{
				Cause:  "the listener wants a login (SASL)",
				Remedy: "set kafka.sasl.mechanism, kafka.sasl.username and a password",
				Err:    err, Permanent: true,
			}
		case c.tls != nil && probeTLS(ctx, addr, nil, ClientID) == nil:
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

// Partitions returns the number of partitions of a topic, from metadata at most metadataTTL old.
func (c *Cluster) Partitions(ctx context.Context, topic string) (int, error) {
	m, err := c.Client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	switch {
	case err != nil:
		return 0, err
	case len(m.Topics) == 1 && m.Topics[0].Error != nil:
		return 0, fmt.Errorf("%s: %w", topic, m.Topics[0].Error)
	case len(m.Topics) != 1 || len(m.Topics[0].Partitions) == 0:
		return 0, protocol.NewErrNoTopic(topic)
	}
	return len(m.Topics[0].Partitions), nil
}

// Offsets returns the first offset that the broker has, and the offset after the last record.
func (c *Cluster) Offsets(ctx context.Context, topic string, partition int32) (first, last int64, err error) {
	p, err := c.ListOffsets(ctx, kafka.ReadUncommitted, topic, kafka.FirstOffsetOf(int(partition)),
		kafka.LastOffsetOf(int(partition)))
	return p.FirstOffset, p.LastOffset, err
}

// ListOffsets asks for offsets in one partition.
func (c *Cluster) ListOffsets(ctx context.Context, level kafka.IsolationLevel, topic string,
	wanted ...kafka.OffsetRequest,
) (kafka.PartitionOffsets, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	res, err := c.Client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		IsolationLevel: level, Topics: map[string][]kafka.OffsetRequest{topic: wanted},
	})
	if err != nil {
		return kafka.PartitionOffsets{}, c.RootCause(ctx, err)
	}
	for _, p := range res.Topics[topic] {
		return p, p.Error
	}
	return kafka.PartitionOffsets{}, protocol.NewErrNoPartition(topic, int32(wanted[0].Partition))
}

// MoveToEnds sets the offset of each position to the end of its log, records of open transactions included.
func (c *Cluster) MoveToEnds(ctx context.Context, positions []Position) error {
	errs := make([]error, len(positions))
	var wait sync.WaitGroup
	for i := range positions {
		wait.Go(func() {
			p := &positions[i]
			now, err := c.ListOffsets(ctx, kafka.ReadUncommitted, p.Topic, kafka.LastOffsetOf(int(p.Partition)))
			if p.Offset = now.LastOffset; err != nil {
				errs[i] = fmt.Errorf("%s: %w", p.TopicPartition, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// Near is where a partition is fetched from, if kafka.rack is set. The zero value is the leader.
type Near struct {
	replica int32
	until   time.Time // when the leader is asked again which replica is nearest
	leader  time.Time // until then the leader itself is asked, because the replica has failed
}

const (
	// nearTime is how long one replica is asked. A replica that has fallen behind, without an error, delays records for
	// at most that long: leaders name only replicas that have the offset.
	nearTime = 30 * time.Second
	// leaderTime is how long the leader serves after the replica has failed. The leader may name a dead replica again
	// until the brokers notice that it is dead.
	leaderTime = 10 * time.Second
)

// Fetch asks for committed records of a partition from offset on: about maxBytes, but at least one record batch. The
// caller calls release when it no longer uses the response. Errors of the broker are kafka.Error.
//
// It asks the leader or, unless near is nil, the replica that the leader calls the nearest to kafka.rack (KIP-392). Any
// error of the replica leads back to the leader. So an offset is out of range only if the leader says so: a replica may
// be behind.
func (c *Cluster) Fetch(ctx context.Context, l *Limiter, near *Near, topic string, partition int32, offset int64,
	maxBytes int,
) (res *wire.FetchResponse, release func(), err error) {
	for {
		now := time.Now()
		r := wire.FetchRequest{
			Topic: topic, Partition: partition, Offset: offset, MaxWait: c.Config.FetchMaxWait, MaxBytes: maxBytes,
		}
		if near != nil && !now.Before(near.leader) {
			r.Rack = c.Config.Rack
		}
		if r.Rack != "" && now.Before(near.until) {
			r.Replica = &near.replica
		}
		res, release, err = c.fetchWith(ctx, l, r)
		switch {
		case r.Replica != nil && err != nil && ctx.Err() == nil && !errors.Is(err, wire.ErrLate):
			*near = Near{leader: now.Add(leaderTime)}
		case r.Replica == nil && r.Rack != "" && err == nil && res.Preferred >= 0:
			release()
			*near = Near{replica: res.Preferred, until: now.Add(nearTime)}
		default:
			return res, release, err
		}
	}
}

// tailWait is how long a broker may hold back the answer to FetchTail while there is nothing new.
const tailWait = 100 * time.Millisecond

// FetchTail is Fetch for records that need not be committed.
func (c *Cluster) FetchTail(ctx context.Context, l *Limiter, topic string, partition int32, offset int64) (
	res *wire.FetchResponse, release func(), err error,
) {
	return c.fetchWith(ctx, l, wire.FetchRequest{
		Topic: topic, Partition: partition, Offset: offset,
		MaxWait: tailWait, MaxBytes: c.Config.FetchMaxBytes, Uncommitted: true,
	})
}

// fetchWith completes the request with the limits of memory, and sends it.
func (c *Cluster) fetchWith(ctx context.Context, l *Limiter, r wire.FetchRequest) (res *wire.FetchResponse,
	release func(), err error,
) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	memory := &responsePermit{limiter: l}
	r.MaxBytes, r.MaxResponse = min(r.MaxBytes, int(l.maxResponses)), c.Config.MaxFetchBytes()
	r.Reserve = func(n int64) error { return memory.acquire(ctx, n) }
	res, err = c.Wire.Fetch(ctx, r)
	if err != nil {
		memory.release()
		return nil, nil, c.RootCause(ctx, err)
	}
	return res, memory.release, nil
}

// Strangers says which members of the group are no Echosieve, or read none of the input topics, at most five, and what
// to do; both are empty if there are none.
func (c *Cluster) Strangers(members []wire.Member) (problem, remedy string) {
	var names []string
	for _, m := range members {
		foreign := m.ClientID != ClientID && !strings.HasPrefix(m.ClientID, ClientID+"/")
		other := m.Topics != "" && !slices.ContainsFunc(strings.Fields(m.Topics),
			func(t string) bool { return slices.Contains(c.Config.Topics.Inputs, t) })
		name := m.ClientID + " at " + m.Host
		if other {
			name += ", which reads " + m.Topics
		}
		if (foreign || other) && len(names) < 5 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", ""
	}
	return fmt.Sprintf("programs other than Echosieve, or with other topics, use group %s: %s", c.Config.Group,
		strings.Join(names, "; ")), "give them, or kafka.group here, a group of its own"
}

// Members returns the members of a consumer group.
func (c *Cluster) Members(ctx context.Context, group string) ([]wire.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerTimeout)
	defer cancel()
	return c.Wire.Members(ctx, group)
}

// Topic asks a broker about one topic, past the transport's cache. If the topic does not exist, the error is
// kafka.UnknownTopicOrPartition.
func (c *Cluster) Topic(ctx context.Context, name string) (wire.Topic, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerTimeout)
	defer cancel()
	m, err := c.Wire.Metadata(ctx, name)
	switch {
	case err != nil:
		return wire.Topic{}, err
	case len(m.Topics) != 1:
		return wire.Topic{}, fmt.Errorf("the broker sent metadata of %d topics, one was requested", len(m.Topics))
	}
	return m.Topics[0], m.Topics[0].Err
}

// Metadata asks a broker about topics, past the transport's cache.
func (c *Cluster) Metadata(ctx context.Context, topics []string) (*wire.Metadata, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	return c.Wire.Metadata(ctx, topics...)
}
