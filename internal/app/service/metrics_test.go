package service

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/consumer"
	"echosieve/internal/app/config"
	"echosieve/internal/app/otlp"
	"echosieve/internal/base/metricset"
	"echosieve/pipeline"
	"echosieve/pipeline/decode"
	"echosieve/redisindex"
)

// A program that embeds two parts of a kind with one registerer gets an error from the second one. None panics.
func TestMetricsRegisteredTwiceAreAnError(t *testing.T) {
	cfg := config.Default()
	made, err := cfg.LoadRecipe()
	require.NoError(t, err)
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })
	own := func(register func(prometheus.Registerer)) func(prometheus.Registerer) error {
		return func(reg prometheus.Registerer) error {
			set := metricset.New(reg)
			register(set)
			return set.Err()
		}
	}
	for name, register := range map[string]func(prometheus.Registerer) error{
		"pipeline": func(reg prometheus.Registerer) error {
			_, err := pipeline.New(pipeline.Config{}, made, nil, reg)
			return err
		},
		"pipeline, sources": func(reg prometheus.Registerer) error {
			_, err := pipeline.New(pipeline.Config{Decode: decode.Config{PublisherLabels: 2}}, made, nil, reg)
			return err
		},
		"redisindex": func(reg prometheus.Registerer) error {
			_, err := redisindex.New(client, cfg.IndexConfig(made.ID()), reg, discardLog(), nil)
			return err
		},
		"consumer": func(reg prometheus.Registerer) error {
			_, err := consumer.New(cfg.Kafka, nil, reg, discardLog(), nil)
			return err
		},
		"tracing": func(reg prometheus.Registerer) error {
			_, err := otlp.New("v1", reg, discardLog())
			return err
		},
		"health":     own(func(reg prometheus.Registerer) { newHealth(reg, discardLog(), "kafka") }),
		"reloads":    own(func(reg prometheus.Registerer) { newReloader(cfg, reg, discardLog()) }),
		"build info": own(func(reg prometheus.Registerer) { registerBuildInfo(reg, "recipe", "index", false) }),
	} {
		t.Run(name, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			require.NoError(t, register(reg))
			require.ErrorContains(t, register(reg), "duplicate metrics collector registration")
		})
	}
}
