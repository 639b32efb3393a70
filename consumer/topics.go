package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"echosieve/internal/base/diag"
	"echosieve/pipeline"

	"github.com/segmentio/kafka-go"
)

// missing returns the names of the topics that do not exist or that this user may not see.
func (c *cluster) missing(ctx context.Context, topics []string) ([]string, error) {
	m, err := c.metadata(ctx, topics)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, t := range m.Topics {
		switch {
		case errors.Is(t.Err, kafka.UnknownTopicOrPartition):
			missing = append(missing, t.Name)
		case t.Err != nil:
			return nil, fmt.Errorf("topic %s: %w", t.Name, t.Err)
		}
	}
	return missing, nil
}

// MissingTopicsError names topics that do not exist or that this user may not see.
type MissingTopicsError struct{ Topics []string }

// Error says what to do.
func (e *MissingTopicsError) Error() string {
	return fmt.Sprintf("topics that do not exist, or that this user has no right on: %s: create them or set "+
		"kafka.create_topics: true", strings.Join(e.Topics, ", "))
}

// EnsureTopics creates the configured topics that are missing, and waits until brokers serve them. It tries once.
// Errors say what to do. Existing topics are not changed.
func EnsureTopics(ctx context.Context, cfg Config) error {
	c, err := newCluster(cfg, cfg.Topics.All()...)
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	defer c.close()
	if _, err := c.ensureTopics(ctx, cfg.Topics.All()); err != nil {
		return fmt.Errorf("consumer: create topics: %w", explain(err))
	}
	return nil
}

// EnsureInput creates the input topic if it is missing, for a tool that publishes, and says whether it did.
// Unlike EnsureTopics it needs no right on the output topics.
func EnsureInput(ctx context.Context, cfg Config) (created bool, err error) {
	c, err := newCluster(cfg, cfg.Topics.Input)
	if err != nil {
		return false, fmt.Errorf("consumer: %w", err)
	}
	defer c.close()
	names, err := c.ensureTopics(ctx, []string{cfg.Topics.Input})
	if err != nil {
		return false, explainProduce(cfg.Topics.Input, c.explainClosed(ctx, err))
	}
	return len(names) > 0, nil
}

// settleTimeout is how long new topics, and the group coordinator of a new cluster, may take until they answer.
const settleTimeout = 15 * time.Second

// ensureTopics creates the topics that are missing and returns their names, also if the topics do not answer in time.
func (c *cluster) ensureTopics(ctx context.Context, topics []string) (created []string, err error) {
	missing, err := c.missing(ctx, topics)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if err := c.createTopics(ctx, missing, false); err != nil {
		return nil, err
	}
	if err := c.waitForTopics(ctx, topics, settleTimeout); err != nil {
		return missing, err
	}
	return missing, c.waitForLeaders(ctx, missing)
}

// createTopics creates topics. With dry it changes nothing and only asks whether the broker would create them.
func (c *cluster) createTopics(ctx context.Context, names []string, dry bool) error {
	req := &kafka.CreateTopicsRequest{ValidateOnly: dry}
	// nil if it is created, too: then all topics get the broker's limits
	input := c.settings(ctx, c.cfg.Topics.Input)[c.cfg.Topics.Input]
	for _, name := range names {
		topic := kafka.TopicConfig{Topic: name, NumPartitions: c.cfg.Partitions, ReplicationFactor: c.cfg.Replication}
		if name != c.cfg.Topics.Input {
			topic.ConfigEntries = []kafka.ConfigEntry{
				{ConfigName: sizeLimit, ConfigValue: fmt.Sprint(c.cfg.MaxMessageBytes)},
				// Records are published with the timestamps of the input, so the topic must take whatever the
				// input takes.
				{ConfigName: timeType, ConfigValue: "CreateTime"},
			}
			for _, limit := range []string{futureLimit, pastLimit, bothLimit} {
				if value, known := input[limit]; known {
					topic.ConfigEntries = append(topic.ConfigEntries,
						kafka.ConfigEntry{ConfigName: limit, ConfigValue: value})
				}
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
				Cause:  "this user may not create the topic " + name,
				Remedy: "grant Create on it or on the cluster, or create it beforehand",
				Err:    err, Permanent: true,
			}
		case err != nil && !errors.Is(err, kafka.TopicAlreadyExists):
			return fmt.Errorf("topic %s: %w", name, err)
		}
	}
	return nil
}

// waitForTopics returns nil when a broker knows all these topics. After patience it returns a *MissingTopicsError.
func (c *cluster) waitForTopics(ctx context.Context, topics []string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var retry backoff
	for {
		missing, err := c.missing(ctx, topics)
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

// checkRights returns a permanent *diag.Problem if this user may see a topic but not use it. A topic that it
// may not see is missing.
func (c *cluster) checkRights(ctx context.Context) error {
	m, err := c.metadata(ctx, c.cfg.Topics.All())
	if err != nil {
		return err
	}
	for i := range m.Topics {
		if p := c.lackingRight(&m.Topics[i]); p != nil {
			return p
		}
	}
	return nil
}

// waitForLeaders returns nil when the leader of every partition of the topics answers. The topics were
// created a moment ago: a broker can list a topic before the topic's leader knows of it.
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

// waitForGroup returns nil when the group's coordinator answers. In a new cluster the first such request
// creates the coordinators' topic, and for a moment no coordinator is available.
func (c *cluster) waitForGroup(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var retry backoff
	for {
		_, err := c.committed(ctx, c.cfg.Group, c.cfg.Topics.Input, []int{0})
		switch {
		case err == nil:
			return nil
		case kind(err) != "coordinator", retry.wait(ctx) != nil:
			return err
		}
	}
}

// Settings that decide which records a topic takes.
const (
	sizeLimit     = "max.message.bytes"
	cleanupPolicy = "cleanup.policy"
	timeType      = "message.timestamp.type"
	// futureLimit and pastLimit bound how far ahead of the broker's clock a timestamp may be, and how far behind.
	futureLimit = "message.timestamp.after.max.ms"
	pastLimit   = "message.timestamp.before.max.ms"
	// retentionTime is how long a topic keeps records.
	retentionTime = "retention.ms"
	// bothLimit bounds both on brokers before 3.6. Brokers up to 3.9 use it where one of the others has its
	// default, which is no limit. Kafka 4.0 has removed it.
	bothLimit = "message.timestamp.difference.max.ms"
)

// topicSettings are the values of these settings in one topic. Brokers leave out the settings that they do not know.
type topicSettings map[string]string

// settings returns the settings of the topics whose settings can be read. readSettings also returns why the
// others cannot.
func (c *cluster) settings(ctx context.Context, topics ...string) map[string]topicSettings {
	all, _ := c.readSettings(ctx, topics...)
	return all
}

func (c *cluster) readSettings(ctx context.Context, topics ...string) (all map[string]topicSettings, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := &kafka.DescribeConfigsRequest{}
	for _, name := range topics {
		req.Resources = append(req.Resources, kafka.DescribeConfigRequestResource{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
			ConfigNames: []string{sizeLimit, cleanupPolicy, timeType, futureLimit, pastLimit, bothLimit, retentionTime},
		})
	}
	res, err := c.client.DescribeConfigs(ctx, req)
	if err != nil {
		return nil, err
	}
	all = map[string]topicSettings{}
	for _, r := range res.Resources {
		if r.Error != nil {
			err = fmt.Errorf("topic %s: %w", r.ResourceName, r.Error)
			continue
		}
		all[r.ResourceName] = topicSettings{}
		for _, e := range r.ConfigEntries {
			all[r.ResourceName][e.ConfigName] = e.ConfigValue
		}
	}
	return all, err
}

// limits returns which records the topic takes.
func (s topicSettings) limits(topic string) pipeline.TopicLimits {
	l := pipeline.NoLimits(topic)
	if n, err := strconv.Atoi(s[sizeLimit]); err == nil {
		l.MaxBytes = n
	}
	l.NeedsKey = strings.Contains(s[cleanupPolicy], "compact")
	if s[timeType] != "LogAppendTime" { // the broker replaces timestamps then, and checks none
		l.MaxAhead, l.MaxBehind = s.distance(futureLimit), s.distance(pastLimit)
	}
	return l
}

// distance returns one of the limits of timestamps.
func (s topicSettings) distance(name string) time.Duration {
	if _, known := s[name]; !known || milliseconds(s[name]) == math.MaxInt64 {
		name = bothLimit
	}
	return milliseconds(s[name])
}

// retention returns how long the topic keeps a record at least, as far as time decides.
func (s topicSettings) retention() time.Duration {
	if policy, known := s[cleanupPolicy]; known && !strings.Contains(policy, "delete") {
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

// outputLimits knows which records the output topics take, and how long they keep them. It reads their
// settings again from time to time, because they can be changed while the service runs. Safe for concurrent
// use.
type outputLimits struct {
	cluster *cluster
	log     *slog.Logger
	limits  atomic.Pointer[pipeline.BatchLimits]
	// retention is the shortest time, in nanoseconds, for which one of the topics keeps records.
	retention atomic.Int64
	stale     chan struct{} // of capacity 1: a topic has refused a record
	// interval is the time after which the limits are read again.
	interval time.Duration
}

const (
	// limitsInterval is outputLimits.interval, except in tests.
	limitsInterval = 30 * time.Second
	// minLimitsInterval is the least time between two reads. Brokers apply a changed setting up to a moment
	// later than they show it.
	minLimitsInterval = time.Second
)

// now returns the latest limits.
func (o *outputLimits) now() pipeline.BatchLimits {
	if l := o.limits.Load(); l != nil {
		return *l
	}
	return pipeline.BatchLimits{}
}

// read reads the limits. Without the right to read them there are none: then a topic's refusal shows them.
// read returns an error only if trying again may help.
func (o *outputLimits) read(ctx context.Context) error {
	topics := o.cluster.cfg.Topics
	all, err := o.cluster.readSettings(ctx, topics.All()[1:]...)
	switch {
	case isConnection(err), diag.IsTimeout(err), ctx.Err() != nil:
		return err
	case err != nil && o.limits.Load() == nil:
		o.log.Warn("the settings of output topics cannot be read, so records that a topic does not take are "+
			"noticed only when it refuses them: "+
			"grant DescribeConfigs on the output topics", "err", err)
	}
	limits, retention := o.now(), time.Duration(math.MaxInt64)
	for to, name := range topics.destinations() {
		if s, known := all[name]; known && name != "" {
			l := s.limits(name)
			limits[to] = &l
			retention = min(retention, s.retention())
		}
	}
	o.limits.Store(&limits)
	o.retention.Store(int64(retention))
	return nil
}

// refused says that a topic has refused a record that its limits allowed.
func (o *outputLimits) refused(r refused) {
	select {
	case o.stale <- struct{}{}:
		o.log.Warn("an output topic refuses records that its settings allowed when they were read; they become "+
			"dead letters",
			"record", r.output.Record.String(), "reason", r.why.Reason, "detail", r.why.Detail)
	default: // said already
	}
}

// keepFresh reads the limits again and again, until ctx ends.
func (o *outputLimits) keepFresh(ctx context.Context) {
	ticker := time.NewTicker(minLimitsInterval)
	defer ticker.Stop()
	read := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		select {
		case <-o.stale:
		default:
			if time.Since(read) < o.interval {
				continue
			}
		}
		read = time.Now()
		if err := o.read(ctx); err != nil {
			o.log.Debug("cannot read the settings of the output topics", "err", err)
		}
	}
}
