package broker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"echosieve/internal/stopping"
	"echosieve/pipeline"
)

// Settings that decide which records a topic takes.
const (
	sizeLimit     = "max.message.bytes"
	CleanupPolicy = "cleanup.policy"
	TimeType      = "message.timestamp.type"
	// FutureLimit and pastLimit bound how far ahead of the broker's clock a timestamp may be, and how far behind.
	FutureLimit = "message.timestamp.after.max.ms"
	PastLimit   = "message.timestamp.before.max.ms"
	// retentionTime is how long a topic keeps records.
	retentionTime = "retention.ms"
	segmentTime   = "segment.ms"
	// bothLimit bounds both on brokers before 3.6. Brokers up to 3.9 use it where one of the others has its
	// default, which is no limit. Kafka 4.0 has removed it.
	bothLimit = "message.timestamp.difference.max.ms"
)

// TopicSettings are the values of these settings in one topic. Brokers leave out the settings that they do not know.
type TopicSettings map[string]string

// ErrNotKnownYet says that a broker does not know the settings of a topic that exists. Trying again helps.
var ErrNotKnownYet = errors.New("the topic is new, and a broker does not know its settings yet")

// WaitForSettings is ReadSettings for topics that exist. Brokers learn of a new topic one after another: one that does
// not know a topic is asked again, for at most SettleTimeout. Then the error is an ErrNotKnownYet.
func WaitForSettings(ctx context.Context, c *Cluster, topics ...string) (all map[string]TopicSettings, err error) {
	err = stopping.Until(ctx, SettleTimeout, func(ctx context.Context) (err error) {
		all, err = ReadSettings(ctx, c, topics...)
		if err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition) {
			return stopping.Final(err)
		}
		return err
	})
	if errors.Is(err, kafka.UnknownTopicOrPartition) {
		err = fmt.Errorf("%w: %s", ErrNotKnownYet, err.Error())
	}
	return all, err
}

// ReadSettings returns the settings of the topics whose settings can be read, and why one of the others cannot.
func ReadSettings(ctx context.Context, c *Cluster, topics ...string) (all map[string]TopicSettings, err error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	req := &kafka.DescribeConfigsRequest{}
	for _, name := range topics {
		req.Resources = append(req.Resources, kafka.DescribeConfigRequestResource{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
			ConfigNames: []string{sizeLimit, CleanupPolicy, TimeType, FutureLimit, PastLimit, bothLimit, retentionTime},
		})
	}
	res, err := c.Client.DescribeConfigs(ctx, req)
	if err != nil {
		return nil, err
	}
	all = map[string]TopicSettings{}
	for _, r := range res.Resources {
		if r.Error != nil {
			err = fmt.Errorf("topic %s: %w", r.ResourceName, r.Error)
			continue
		}
		all[r.ResourceName] = TopicSettings{}
		for _, e := range r.ConfigEntries {
			all[r.ResourceName][e.ConfigName] = e.ConfigValue
		}
	}
	return all, err
}

// Limits returns which records the topic takes.
func (s TopicSettings) Limits(topic string) pipeline.TopicLimits {
	l := pipeline.NoLimits(topic)
	if n, err := strconv.Atoi(s[sizeLimit]); err == nil {
		l.MaxBytes = n
	}
	l.NeedsKey = strings.Contains(s[CleanupPolicy], "compact")
	if s[TimeType] != "LogAppendTime" { // the broker replaces timestamps then, and checks none
		l.MaxAhead, l.MaxBehind = s.distance(FutureLimit), s.distance(PastLimit)
	}
	return l
}

// distance returns one of the limits of timestamps.
func (s TopicSettings) distance(name string) time.Duration {
	if _, known := s[name]; !known || milliseconds(s[name]) == math.MaxInt64 {
		name = bothLimit
	}
	return milliseconds(s[name])
}

// Retention returns how long the topic keeps a record at least, as far as time decides.
func (s TopicSettings) Retention() time.Duration {
	if policy, known := s[CleanupPolicy]; known && !strings.Contains(policy, "delete") {
		return math.MaxInt64
	}
	return milliseconds(s[retentionTime])
}

// milliseconds reads a time in a setting. It is math.MaxInt64 if the setting is missing or negative, or too
// large: then there is no limit.
func milliseconds(setting string) time.Duration {
	ms, err := strconv.ParseInt(setting, 10, 64)
	if err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// Settings of brokers that say for how long they remember a producer and a transactional id that are silent.
const (
	producerTime      = "producer.id.expiration.ms"
	transactionalTime = "transactional.id.expiration.ms"
)

// ProducerMemory returns how long brokers remember a producer and its transactional id, math.MaxInt64 if this user
// may not read it. All brokers are taken to have the same settings.
func ProducerMemory(ctx context.Context, c *Cluster) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	memory := time.Duration(math.MaxInt64)
	m, err := c.Client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}})
	if err != nil || len(m.Brokers) == 0 {
		return memory
	}
	res, err := c.Client.DescribeConfigs(ctx,
		&kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{{
			ResourceType: kafka.ResourceTypeBroker, ResourceName: strconv.Itoa(m.Brokers[0].ID),
			ConfigNames: []string{producerTime, transactionalTime},
		}}})
	if err != nil {
		return memory
	}
	for _, r := range res.Resources {
		for _, e := range r.ConfigEntries {
			memory = min(memory, milliseconds(e.ConfigValue))
		}
	}
	return memory
}
