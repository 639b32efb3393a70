package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"echosieve/consumer/internal/wire"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Partition reads one partition: its offsets, and the records from an offset on. Not safe for concurrent use.
type Partition struct {
	wire.TopicPartition
	Cluster *Cluster
	Limiter *Limiter // bounds responses; only offsets need none
	// Near makes Fetch ask the replica that the leader calls the nearest to kafka.rack (KIP-392).
	Near bool

	replica int32     // the nearest one
	until   time.Time // when the leader is asked again which replica is nearest
	leader  time.Time // until then the leader itself is asked, because the replica has failed
}

// Partition returns a partition for its offsets; to fetch records, the caller sets a Limiter.
func (c *Cluster) Partition(topic string, partition int32) *Partition {
	return &Partition{TopicPartition: wire.TopicPartition{Topic: topic, Partition: partition}, Cluster: c}
}

const (
	// nearTime is how long one replica is asked. A replica that has fallen behind, without an error, delays records for
	// at most that long: leaders name only replicas that have the offset.
	nearTime = 30 * time.Second
	// leaderTime is how long the leader serves after the replica has failed. The leader may name a dead replica again
	// until the brokers notice that it is dead.
	leaderTime = 10 * time.Second
	// tailWait is how long a broker may hold back the answer to Tail while there is nothing new.
	tailWait = 100 * time.Millisecond
)

// Offsets returns the first offset that the broker has, and the offset after the last record.
func (p *Partition) Offsets(ctx context.Context) (first, last int64, err error) {
	offsets, err := p.ListOffsets(ctx, kafka.ReadUncommitted, kafka.FirstOffsetOf(int(p.Partition)),
		kafka.LastOffsetOf(int(p.Partition)))
	return offsets.FirstOffset, offsets.LastOffset, err
}

// ListOffsets asks for offsets.
func (p *Partition) ListOffsets(ctx context.Context, level kafka.IsolationLevel, wanted ...kafka.OffsetRequest) (
	kafka.PartitionOffsets, error,
) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	res, err := p.Cluster.Client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		IsolationLevel: level, Topics: map[string][]kafka.OffsetRequest{p.Topic: wanted},
	})
	if err != nil {
		return kafka.PartitionOffsets{}, p.Cluster.RootCause(ctx, err)
	}
	for _, offsets := range res.Topics[p.Topic] {
		return offsets, offsets.Error
	}
	return kafka.PartitionOffsets{}, protocol.NewErrNoPartition(p.Topic, p.Partition)
}

// Fetch asks for committed records from offset on: about maxBytes, but at least one record batch. The caller calls
// release when it no longer uses the response. Errors of the broker are kafka.Error.
//
// Any error of the nearest replica leads back to the leader. So an offset is out of range only if the leader says so: a
// replica may be behind.
func (p *Partition) Fetch(ctx context.Context, offset int64, maxBytes int) (
	res *wire.FetchResponse, release func(), err error,
) {
	for {
		now := time.Now()
		r := wire.FetchRequest{Offset: offset, MaxWait: p.Cluster.Config.FetchMaxWait, MaxBytes: maxBytes}
		if p.Near && !now.Before(p.leader) {
			r.Rack = p.Cluster.Config.Rack
		}
		if r.Rack != "" && now.Before(p.until) {
			r.Replica = new(p.replica)
		}
		res, release, err = p.fetch(ctx, r)
		switch {
		case r.Replica != nil && err != nil && ctx.Err() == nil && !errors.Is(err, wire.ErrLate):
			p.until, p.leader = time.Time{}, now.Add(leaderTime)
		case r.Replica == nil && r.Rack != "" && err == nil && res.Preferred >= 0:
			release()
			p.replica, p.until = res.Preferred, now.Add(nearTime)
		default:
			return res, release, err
		}
	}
}

// Tail is Fetch from the leader, for records that need not be committed.
func (p *Partition) Tail(ctx context.Context, offset int64) (res *wire.FetchResponse, release func(), err error) {
	return p.fetch(ctx, wire.FetchRequest{
		Offset: offset, MaxWait: tailWait, MaxBytes: p.Cluster.Config.FetchMaxBytes, Uncommitted: true,
	})
}

// fetch completes the request with the partition and the limits of memory, and sends it.
func (p *Partition) fetch(ctx context.Context, r wire.FetchRequest) (
	res *wire.FetchResponse, release func(), err error,
) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	memory := &responsePermit{limiter: p.Limiter}
	r.TopicPartition = p.TopicPartition
	r.MaxBytes, r.MaxResponse = min(r.MaxBytes, int(p.Limiter.maxResponses)), p.Cluster.Config.MaxFetchBytes()
	r.Reserve = func(n int64) error { return memory.acquire(ctx, n) }
	res, err = p.Cluster.Wire.Fetch(ctx, r)
	if err != nil {
		memory.release()
		return nil, nil, p.Cluster.RootCause(ctx, err)
	}
	return res, memory.release, nil
}

// Position is an offset in one partition of an output topic.
type Position struct {
	wire.TopicPartition
	TopicID wire.TopicID
	Offset  int64
}

// MoveToEnds sets the offset of each position to the end of its log, records of open transactions included.
func MoveToEnds(ctx context.Context, c *Cluster, positions []Position) error {
	errs := make([]error, len(positions))
	var wait sync.WaitGroup
	for i := range positions {
		wait.Go(func() {
			at := positions[i].TopicPartition
			now, err := c.Partition(at.Topic, at.Partition).ListOffsets(ctx, kafka.ReadUncommitted,
				kafka.LastOffsetOf(int(at.Partition)))
			if positions[i].Offset = now.LastOffset; err != nil {
				errs[i] = fmt.Errorf("%s: %w", at, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
