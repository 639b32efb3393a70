// Package servers starts a Kafka and a Redis in this process, on loopback ports, and connects to real ones.
package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kfake"

	"echosieve/app/config"
	"echosieve/consumer/broker"
	"echosieve/internal/remote"
	"echosieve/redisindex/connection"
)

// Servers are a Kafka and a Redis in this process.
type Servers struct {
	kafka *kfake.Cluster
	redis *miniredis.Miniredis
}

// Start starts both. The caller closes them.
func Start() (*Servers, error) {
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

// DialRedis connects to a Redis, and returns an error if it does not answer. The index alone would wait for the Redis.
func DialRedis(ctx context.Context, cfg config.RedisConfig) (redis.UniversalClient, error) {
	client, err := connection.Connect(cfg.Options)
	if err != nil {
		return nil, err
	}
	if err := connection.Explain(connection.Ping(ctx, client), client, cfg.Namespace); err != nil {
		return nil, errors.Join(fmt.Errorf("redis at %s does not answer: %w", strings.Join(cfg.Addrs, ", "), err),
			client.Close())
	}
	return client, nil
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
