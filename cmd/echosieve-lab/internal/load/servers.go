package load

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/twmb/franz-go/pkg/kfake"

	"echosieve/app/config"
	"echosieve/consumer/broker"
	"echosieve/internal/remote"
	"echosieve/redisindex/connection"
)

// Servers are a Kafka and a Redis in this process, on loopback ports.
type Servers struct {
	kafka *kfake.Cluster
	redis *miniredis.Miniredis
}

// StartServers starts both. The caller closes them.
func StartServers() (*Servers, error) {
	kafka, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": "10485760"}))
	if err != nil {
		return nil, fmt.Errorf("in-process Kafka: %w", err)
	}
	store := miniredis.NewMiniRedis()
	if err := store.Start(); err != nil {
		kafka.Close()
		return nil, fmt.Errorf("in-process Redis: %w", err)
	}
	return &Servers{kafka: kafka, redis: store}, nil
}

// Configure returns cfg with these servers in place of the configured ones. Missing topics will be created.
func (s *Servers) Configure(cfg config.Config) config.Config {
	cfg.Kafka.Brokers, cfg.Kafka.TLS, cfg.Kafka.SASL = s.kafka.ListenAddrs(), remote.TLS{}, broker.SASL{}
	cfg.Kafka.CreateTopics, cfg.Kafka.Replication = true, 1
	cfg.Redis.Options = connection.DefaultOptions()
	cfg.Redis.Addrs = []string{s.redis.Addr()}
	return cfg
}

// Close ends both.
func (s *Servers) Close() {
	s.kafka.Close()
	s.redis.Close()
}

// EnsureTopics creates the configured topics that are missing, and waits until brokers serve them. It tries once.
// Errors say what to do. Existing topics are not changed.
func EnsureTopics(ctx context.Context, cfg broker.Config) error {
	c, err := broker.New(cfg, cfg.Topics.All()...)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.EnsureTopics(ctx, cfg.Topics.All()); err != nil {
		return fmt.Errorf("create topics: %w", broker.Explain(err))
	}
	return nil
}
