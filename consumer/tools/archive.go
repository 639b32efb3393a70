// Package tools does for commands what needs no consumer group: it creates and checks topics, publishes records
// (Producer) and reads them (Archive). The service uses the Archive for the console, for lists of stories, and to fill
// an index before its first verdict.
package tools

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// ErrNoRecord says that Kafka has no committed record at an offset: retention or compaction has removed it,
// its transaction was aborted, or nothing was published there yet.
var ErrNoRecord = errors.New("no record is kept at this offset")

// emptyFetches is the number of fetches in a row without any record after which the rest of a partition
// counts as removed by compaction. One is not enough: a broker that has just become the leader sends no
// records until the other replicas have confirmed how far they are, usually within replica.fetch.wait.max.ms,
// 0.5 seconds. Each fetch waits for kafka.fetch_max_wait.
const emptyFetches = 4

// archivePatience is how long an Archive tries a request again before it gives up. A broker that restarts is
// back by then.
const archivePatience = 30 * time.Second

// Archive reads committed records of topics without a consumer group, for commands and pages that show or
// count articles. It commits nothing and needs only the rights Read and Describe on the topics. Once a broker
// has answered, requests that fail are tried again for archivePatience. Safe for concurrent use.
type Archive struct {
	cluster *broker.Cluster
	limiter *broker.Limiter // of Record, which a page of a running service may call often
	reached atomic.Bool     // a broker has accepted a connection
}

// NewArchive returns an archive of the given topics. It does not dial. The caller closes the archive.
func NewArchive(cfg broker.Config, topics ...string) (*Archive, error) {
	c, err := broker.New(cfg, topics...)
	if err != nil {
		return nil, fmt.Errorf("consumer: archive: %w", err)
	}
	return &Archive{cluster: c, limiter: broker.NewLimiter(1, cfg.MaxInFlightBytes, nil)}, nil
}

// Close closes the connections.
func (a *Archive) Close() { a.cluster.Close() }

// Partitions returns the number of partitions of a topic.
func (a *Archive) Partitions(ctx context.Context, topic string) (int, error) {
	return retried(ctx, a, "partitions of "+topic, func() (int, error) { return a.cluster.Partitions(ctx, topic) })
}

// TopicID returns the id of a topic, which another topic of the same name does not have. Brokers before Kafka 2.8 give
// every topic the same.
func (a *Archive) TopicID(ctx context.Context, topic string) (string, error) {
	return retried(ctx, a, "id of "+topic, func() (string, error) {
		t, err := a.cluster.Topic(ctx, topic)
		if err != nil {
			return "", a.cluster.RootCause(ctx, err)
		}
		return t.ID.String(), nil
	})
}

// Offsets are the offsets that a partition holds: First <= offset < Next. Records from Next on belong to open
// transactions, or do not exist yet.
type Offsets struct{ First, Next int64 }

// Offsets returns the offsets of a partition.
func (a *Archive) Offsets(ctx context.Context, topic string, partition int32) (Offsets, error) {
	p, err := a.listOffsets(ctx, topic, partition, kafka.FirstOffsetOf(int(partition)),
		kafka.LastOffsetOf(int(partition)))
	return Offsets{p.FirstOffset, p.LastOffset}, err
}

// OffsetAt returns the offset of the first record whose timestamp is at or after t, or -1 if there is none.
func (a *Archive) OffsetAt(ctx context.Context, topic string, partition int32, t time.Time) (int64, error) {
	p, err := a.listOffsets(ctx, topic, partition, kafka.TimeOffsetOf(int(partition), t))
	for offset := range p.Offsets {
		return offset, err
	}
	return -1, err
}

func (a *Archive) listOffsets(ctx context.Context, topic string, partition int32, wanted ...kafka.OffsetRequest) (
	kafka.PartitionOffsets, error,
) {
	return retried(ctx, a, fmt.Sprintf("offsets of %s/%d", topic, partition), func() (kafka.PartitionOffsets, error) {
		return a.cluster.Partition(topic, partition).ListOffsets(ctx, kafka.ReadCommitted, wanted...)
	})
}

// Record returns one record. The error is ErrNoRecord if Kafka has no committed record there, or no such partition. A
// record above kafka.max_message_bytes comes without its value. All calls together take a quarter of
// kafka.max_in_flight_bytes for responses, and as much for decompressors: they wait for each other. Who needs more runs
// alone.
func (a *Archive) Record(ctx context.Context, c article.Coordinates) (record.Record, error) {
	var found *record.Record
	// A broker sends the first record batch whole, so one byte asks for this batch only.
	_, err := a.read(ctx, c, 1, a.limiter, func(r *record.Record) error {
		found = r
		return errStop
	})
	gone := errors.Is(err, kafka.OffsetOutOfRange)
	if IsMissing(err) { // the topic may have been recreated with fewer partitions
		n, asked := a.Partitions(ctx, c.Topic)
		gone = asked == nil && int(c.Partition) >= n
	}
	switch {
	case gone, err == nil && found == nil, found != nil && found.Offset != c.Offset:
		return record.Record{}, fmt.Errorf("%s: %w", c, ErrNoRecord)
	case err != nil && !errors.Is(err, errStop):
		return record.Record{}, err
	}
	return *found, nil
}

// Read calls fn with the committed records of a partition in order, from the offset from.Offset up to and
// without the offset to. fn may keep the record. Read ends with the first error of fn. If retention removes
// records while Read runs, it goes on with the first record that is left.
func (a *Archive) Read(ctx context.Context, from article.Coordinates, to int64, fn func(*record.Record) error) error {
	alone := broker.NewLimiter(1, a.cluster.Config.MaxInFlightBytes, nil) // fn may wait for other calls of Read
	for empty := 0; from.Offset < to && empty < emptyFetches; {
		next, err := a.read(ctx, from, a.cluster.Config.FetchMaxBytes, alone, func(r *record.Record) error {
			if r.Offset >= to {
				return errStop
			}
			return fn(r)
		})
		switch {
		case errors.Is(err, errStop):
			return nil
		case errors.Is(err, kafka.OffsetOutOfRange):
			left, offsetsErr := a.Offsets(ctx, from.Topic, from.Partition)
			if offsetsErr != nil || left.First <= from.Offset {
				return errors.Join(err, offsetsErr)
			}
			next = left.First
		case err != nil:
			return err
		case next == from.Offset:
			empty++
			continue
		}
		from.Offset, empty = next, 0
	}
	return nil
}

// AllCommitted returns the offsets that a group has committed, by topic and partition, also in topics that it no longer
// reads. An offset is 0 if the group has committed none, or if its offset belongs to a topic of that name that was
// deleted since; topics without any other offset are left out. It needs the right Describe on the group.
func (a *Archive) AllCommitted(ctx context.Context, group string) (map[string][]int64, error) {
	topics, err := retried(ctx, a, "offsets of group "+group, func() ([]string, error) {
		return a.cluster.Group(group).CommittedTopics(ctx)
	})
	if err != nil {
		return nil, err
	}
	all := map[string][]int64{}
	for _, topic := range topics {
		id, known, err := a.commits(ctx, group, topic)
		if err != nil && !IsMissing(err) {
			return nil, err
		}
		offsets := make([]int64, len(known))
		for _, c := range known {
			if c.Next > 0 && !c.OfOtherTopic(id) {
				offsets[c.Partition], all[topic] = c.Next, offsets
			}
		}
	}
	return all, nil
}

// Labels returns the words of the index beside the offsets that a group has committed in topics
// (Labels.Recall). It needs the right Describe on the group.
func (a *Archive) Labels(ctx context.Context, group string, topics ...string) (map[article.Coordinates]string, error) {
	var all []broker.Commit
	for _, topic := range topics {
		_, known, err := a.commits(ctx, group, topic)
		if err != nil {
			return nil, err
		}
		all = append(all, known...)
	}
	return broker.IndexLabels(all), nil
}

// commits returns the id of a topic, and a group's commits in all its partitions.
func (a *Archive) commits(ctx context.Context, group, topic string) (id wire.TopicID,
	known []broker.Commit, err error,
) {
	known, err = retried(ctx, a, "offsets of group "+group, func() ([]broker.Commit, error) {
		now, err := a.cluster.Topic(ctx, topic)
		if err != nil {
			return nil, a.cluster.RootCause(ctx, err)
		}
		id = now.ID
		return a.cluster.Group(group).Committed(ctx, topic, broker.FirstPartitions(len(now.Partitions)))
	})
	return id, known, err
}

// errStop ends a read early.
var errStop = errors.New("stop")

// read fetches once and calls fn with the records. It returns the offset to go on with.
func (a *Archive) read(ctx context.Context, from article.Coordinates, maxBytes int, l *broker.Limiter,
	fn func(*record.Record) error,
) (next int64, err error) {
	partition := a.cluster.Partition(from.Topic, from.Partition)
	partition.Limiter = l
	var release func()
	res, err := retried(ctx, a, "fetch "+from.String(), func() (res *wire.FetchResponse, err error) {
		res, release, err = partition.Fetch(ctx, from.Offset, maxBytes)
		return res, err
	})
	if err != nil {
		return from.Offset, err
	}
	defer release()
	records := wire.NewReader(res, from.Offset, a.cluster.Config.MaxMessageBytes, l.WaitDecoder(ctx))
	defer records.Close()
	for {
		r, ok, err := records.Next()
		if err == nil && !ok && res.HasRecords() && records.Offset() == from.Offset {
			err = wire.ErrTruncated // brokers send the first batch whole
		}
		if err != nil {
			return records.Offset(), fmt.Errorf("consumer: %s: %w", from, err)
		}
		if !ok {
			return records.Offset(), nil
		}
		r.Topic, r.Partition = from.Topic, from.Partition
		if err := fn(&r); err != nil {
			return records.Offset(), err
		}
	}
}

// retried calls request until it succeeds, fails for a reason that trying again does not remove, or has
// failed for archivePatience. Before the first connection it does not try again: brokers that nobody can
// connect to are more often a wrong address than a restart.
func retried[T any](ctx context.Context, a *Archive, what string, request func() (T, error)) (T, error) {
	var result T
	err := stopping.Until(ctx, archivePatience, func(context.Context) (err error) {
		result, err = request()
		if !isUnreachable(err) {
			a.reached.Store(true)
		}
		if err != nil && (!a.reached.Load() || !worthRetrying(err)) {
			err = stopping.Final(err)
		}
		return err
	})
	if err != nil {
		return result, fmt.Errorf("consumer: %s: %w", what, explainRead(err))
	}
	return result, nil
}

// isUnreachable says whether no broker accepted a connection: kafka-go dials each of kafka.brokers before it
// fails so. A broker that does not answer in time is not meant, because kafka-go then may not have dialled
// the others.
func isUnreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && !diag.IsTimeout(err)
}

// explainRead advises what a command can do that reads topics. The advice of explain is for the service,
// which may also create topics and writes to some of them.
func explainRead(err error) error {
	err = broker.Explain(err)
	var problem *diag.Problem
	if errors.As(err, &problem) && (IsMissing(err) || errors.Is(err, kafka.TopicAuthorizationFailed)) {
		problem.Remedy = "check its name, or grant Read on it"
	}
	return err
}

// IsMissing says whether the error of an Archive is that a topic or partition does not exist, or that this user may not
// see it.
func IsMissing(err error) bool {
	return errors.Is(err, kafka.UnknownTopicOrPartition) || errors.Is(err, protocol.ErrNoTopic) ||
		errors.Is(err, protocol.ErrNoPartition)
}

// worthRetrying says whether a request may succeed later. A missing topic is the mistake of who named it: a
// service waits for the topic, a command must not.
func worthRetrying(err error) bool {
	return !IsMissing(err) && !errors.Is(err, kafka.OffsetOutOfRange) && !broker.Permanent(err)
}
