package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"echosieve/internal/diag"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	metaapi "github.com/segmentio/kafka-go/protocol/metadata"
)

// partitions returns the number of partitions of a topic as known from metadata at most metadataTTL old.
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

// rootCause looks behind "topic not found": while no broker was ever reached, the transport knows no topics and
// hides why.
func (c *cluster) rootCause(ctx context.Context, err error) error {
	if !errors.Is(err, protocol.ErrNoTopic) {
		return err
	}
	if _, cause := c.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}}); cause != nil {
		return cause
	}
	return err
}

// offsets returns the first offset the broker has and the one after the last.
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

// ping makes one round trip to any broker.
func (c *cluster) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := c.client.ApiVersions(ctx, &kafka.ApiVersionsRequest{})
	return explain(err)
}

// metadata asks a broker about topics, past the transport's cache.
func (c *cluster) metadata(ctx context.Context, topics []string) (*metaapi.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m, err := c.transport.RoundTrip(ctx, c.addr, &metadataRequest{clientID: c.cfg.ClientID, topics: topics})
	if err != nil {
		return nil, err
	}
	return m.(metadataResponse).Response, nil
}

// metadataResponse hides its type from the transport, which expects the request to be its own.
type metadataResponse struct{ *metaapi.Response }

// metadataRequest is a Metadata request that the transport does not answer from its cache.
type metadataRequest struct {
	clientID string
	topics   []string
	version  int16
}

var _ protocol.RawExchanger = (*metadataRequest)(nil)

// ApiKey implements protocol.Message.
func (*metadataRequest) ApiKey() protocol.ApiKey { return protocol.Metadata } //nolint:revive // name given by the interface

// Required implements protocol.RawExchanger: always.
func (r *metadataRequest) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = versions[protocol.Metadata]
	return true
}

// RawExchange implements protocol.RawExchanger.
func (r *metadataRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	m, err := protocol.RoundTrip(rw, r.version, correlationID, r.clientID, &metaapi.Request{
		TopicNames: r.topics, IncludeTopicAuthorizedOperations: r.version >= 8,
	})
	if err != nil {
		return nil, err
	}
	return metadataResponse{m.(*metaapi.Response)}, nil
}

// missing returns the topics that do not exist, or that this user may not see.
func (c *cluster) missing(ctx context.Context, topics []string) ([]string, error) {
	m, err := c.metadata(ctx, topics)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, t := range m.Topics {
		switch code := kafka.Error(t.ErrorCode); {
		case code == kafka.UnknownTopicOrPartition:
			missing = append(missing, t.Name)
		case code != 0:
			return nil, fmt.Errorf("topic %s: %w", t.Name, code)
		}
	}
	return missing, nil
}

// MissingTopicsError names topics that do not exist.
type MissingTopicsError struct{ Topics []string }

// Error says what to do.
func (e *MissingTopicsError) Error() string {
	return fmt.Sprintf("topics that do not exist, or that this user has no right on: %s: create them or set kafka.create_topics: true", strings.Join(e.Topics, ", "))
}

// EnsureTopics creates the missing ones of the configured topics and waits until brokers serve them. It tries once;
// errors say what to do. Existing topics are left as they are.
func EnsureTopics(ctx context.Context, cfg Config) error {
	c, err := newCluster(cfg, cfg.Topics.all()...)
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	defer c.close()
	if err := c.ensureTopics(ctx); err != nil {
		return fmt.Errorf("consumer: create topics: %w", explain(err))
	}
	return nil
}

// settleTimeout is how long new topics, and the group coordinator of a new cluster, may take until they work.
const settleTimeout = 15 * time.Second

func (c *cluster) ensureTopics(ctx context.Context) error {
	missing, err := c.missing(ctx, c.cfg.Topics.all())
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := c.createTopics(ctx, missing, false); err != nil {
		return err
	}
	if err := c.waitForTopics(ctx, settleTimeout); err != nil {
		return err
	}
	return c.waitForLeaders(ctx, missing)
}

// createTopics creates topics, or with dry only asks whether the broker would.
func (c *cluster) createTopics(ctx context.Context, names []string, dry bool) error {
	req := &kafka.CreateTopicsRequest{ValidateOnly: dry}
	for _, name := range names {
		topic := kafka.TopicConfig{Topic: name, NumPartitions: c.cfg.Partitions, ReplicationFactor: c.cfg.Replication}
		if name != c.cfg.Topics.Input {
			topic.ConfigEntries = []kafka.ConfigEntry{
				{ConfigName: "max.message.bytes", ConfigValue: fmt.Sprint(c.cfg.MaxMessageBytes)},
				// Timestamps are part of the records: whatever the input topic took, these take.
				{ConfigName: "message.timestamp.type", ConfigValue: "CreateTime"},
			}
		}
		req.Topics = append(req.Topics, topic)
	}
	res, err := c.client.CreateTopics(ctx, req)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := res.Errors[name]
		switch {
		case errors.Is(err, kafka.TopicAuthorizationFailed), errors.Is(err, kafka.ClusterAuthorizationFailed):
			return &diag.Problem{
				Cause: "this user may not create the topic " + name, Remedy: "grant Create on it or on the cluster, or create it beforehand",
				Err: err, Permanent: true,
			}
		case err != nil && !errors.Is(err, kafka.TopicAlreadyExists):
			return fmt.Errorf("topic %s: %w", name, err)
		}
	}
	return nil
}

// waitForTopics returns when a broker knows all configured topics. After patience it returns a MissingTopicsError.
func (c *cluster) waitForTopics(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var retry backoff
	for {
		missing, err := c.missing(ctx, c.cfg.Topics.all())
		if err == nil && len(missing) == 0 {
			return nil
		}
		if err == nil {
			slices.Sort(missing)
			err = &MissingTopicsError{Topics: missing}
		}
		if permanent(err) || retry.wait(ctx) != nil {
			return err
		}
	}
}

// waitForLeaders returns when every partition of the topics, which were created a moment ago, is served by its leader. A broker
// can tell of a topic before its leader knows of it.
func (c *cluster) waitForLeaders(ctx context.Context, topics []string) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for _, topic := range topics {
		for partition := range int32(c.cfg.Partitions) {
			var retry backoff
			for {
				_, _, err := c.offsets(ctx, topic, partition)
				if err == nil {
					break
				}
				if permanent(err) || retry.wait(ctx) != nil {
					return fmt.Errorf("topic %s: %w", topic, err)
				}
			}
		}
	}
	return nil
}

// waitForGroup returns when the group's coordinator answers. In a new cluster the first such request creates the coordinators'
// topic, and they are not available for a moment.
func (c *cluster) waitForGroup(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var retry backoff
	for {
		_, err := c.committed(ctx, c.cfg.Group, c.cfg.Topics.Input, []int{0})
		switch {
		case err == nil, errors.Is(err, kafka.GroupIdNotFound): // it has no member yet
			return nil
		case kind(err) != "coordinator", retry.wait(ctx) != nil:
			return err
		}
	}
}
