// Package watch says what has become of an index: that Redis has lost a part of it, or lacks memory (Losses),
// and that the consumer group has its articles in another index (Handover). Both compare Redis with what the
// group has committed (Label).
package watch

import (
	"log/slog"
	"time"

	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// Losses notices that Redis has lost a part of an index, and says so. Claims tell it what they have seen of
// Redis. Safe for concurrent use.
type Losses struct {
	*watermarks
	session   *connection.Session
	window    time.Duration
	interval  time.Duration // monitorInterval; tests set a shorter one
	log       *slog.Logger
	metrics   *lossMetrics
	witnesses witnesses
}

// NewLosses returns the losses of an index with this window. A nil reg leaves the metrics unregistered.
func NewLosses(client redis.UniversalClient, keys keyspace.Keys, window time.Duration, reg prometheus.Registerer,
	log *slog.Logger) *Losses {
	return &Losses{
		watermarks: newWatermarks(client, keys), window: window, interval: monitorInterval, log: log,
		metrics: newLossMetrics(reg),
		session: connection.NewSession(client, keys.ID.Namespace, markerScript, counterScript),
	}
}
