package load

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"

	"echosieve/consumer"
)

// trimInterval is how often the in-process Kafka forgets what everybody has read.
const trimInterval = 2 * time.Second

// Servers are a Kafka and a Redis in this process, on loopback ports.
type Servers struct {
	kafka *kfake.Cluster
	redis *miniredis.Miniredis
}

// StartServers starts both. The caller closes them.
func StartServers() (*Servers, error) {
	kafka, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{
		"message.max.bytes": "10485760",
		"log.segment.bytes": "4194304", // a segment is forgotten as a whole
	}))
	if err != nil {
		return nil, fmt.Errorf("load: in-process Kafka: %w", err)
	}
	redis := miniredis.NewMiniRedis()
	if err := redis.Start(); err != nil {
		kafka.Close()
		return nil, fmt.Errorf("load: in-process Redis: %w", err)
	}
	return &Servers{kafka: kafka, redis: redis}, nil
}

// Brokers returns the addresses of the Kafka.
func (s *Servers) Brokers() []string { return s.kafka.ListenAddrs() }

// Redis returns the address of the Redis.
func (s *Servers) Redis() string { return s.redis.Addr() }

// Close ends both.
func (s *Servers) Close() {
	s.kafka.Close()
	s.redis.Close()
}

// trim makes the in-process Kafka forget, until ctx ends, what the service has committed and what the reader has read:
// its log is memory of this process. Nothing is lost by a trim that fails: the next one makes up for it.
func (s *Servers) trim(ctx context.Context, cfg consumer.Config, read func() kadm.Offsets) error {
	client, err := newClient(cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	tick := time.NewTicker(trimInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		done := read()
		committed, err := admin.FetchOffsets(ctx, cfg.Group)
		if err == nil {
			committed.Offsets().Each(done.Add)
		}
		done.KeepFunc(func(o kadm.Offset) bool { return o.At > 0 }) // -1, nothing committed, would mean the whole partition
		if _, err := admin.DeleteRecords(ctx, done); err != nil && ctx.Err() == nil {
			return fmt.Errorf("load: in-process Kafka: %w", err)
		}
	}
}
