package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"echosieve/consumer"
	"echosieve/pipeline"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
)

// service is one Echosieve process: index, pipeline, consumer and HTTP listener over one configuration.
// `run` and `demo` use it alike.
type service struct {
	log      *slog.Logger
	registry *prometheus.Registry
	health   *health
	recipe   *recipe.Recipe
	redis    redis.UniversalClient
	index    *redisindex.Index
	consumer *consumer.Consumer
	listener net.Listener
	cfg      Config
}

// newService loads the dictionaries, opens the HTTP listener and wires the rest. It dials nothing: servers
// that are away are waited for by Run. The caller calls Run once, or Close.
func newService(ctx context.Context, cfg Config, log *slog.Logger) (*service, error) {
	s := &service{cfg: cfg, log: log, registry: prometheus.NewRegistry()}
	s.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.health = newHealth(s.registry, log, "kafka", "redis")
	var err error
	if s.recipe, err = loadRecipe(cfg); err != nil {
		return nil, err
	}
	// Loading leaves as much garbage as the dictionaries hold. Without this call an idle process would keep it for minutes.
	debug.FreeOSMemory()
	registerBuildInfo(s.registry, s.recipe.ID())
	if s.redis, err = redisindex.Connect(cfg.Redis.Options); err != nil {
		return nil, err
	}
	s.index, err = redisindex.New(s.redis, cfg.index(s.recipe.ID()), s.registry, log.With("component", "index"), s.health.report)
	if err != nil {
		return nil, errors.Join(err, s.redis.Close())
	}
	stages := pipeline.New(pipeline.Config{Decode: cfg.Input, MaxMessageBytes: cfg.Kafka.MaxMessageBytes, Window: cfg.Window}, s.recipe, s.index, s.registry)
	s.consumer, err = consumer.New(cfg.Kafka, stages, s.registry, log.With("component", "consumer"), s.health.report)
	if err != nil {
		return nil, errors.Join(err, s.redis.Close())
	}
	s.consumer.KeepNotes(s.index)
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", cfg.HTTP.Listen); err != nil {
		return nil, errors.Join(fmt.Errorf("http.listen: %w (is another process using the port? set http.listen)", err), s.redis.Close())
	}
	return s, nil
}

// Run serves until ctx ends (then it drains, commits, leaves the group and returns nil) or something fails
// for good.
func (s *service) Run(ctx context.Context) error {
	defer s.Close()
	s.log.Info("starting", "version", buildVersion(), "recipe", s.recipe.ID(), "input", s.cfg.Kafka.Topics.Input,
		"group", s.cfg.Kafka.Group, "brokers", s.cfg.Kafka.Brokers, "redis", s.cfg.Redis.Addrs,
		"window", s.cfg.Window, "http", s.listener.Addr().String())
	for _, f := range unprotected(s.cfg) {
		s.log.Warn("a connection is not protected", "component", f.Component, "problem", f.Problem, "remedy", f.Remedy)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveHTTP(ctx, s.listener, s.registry, s.health, s.cfg.HTTP.Pprof) })
	group.Go(func() error {
		s.health.probe(ctx, "redis", func(ctx context.Context) error {
			return redisindex.Explain(redisindex.Ping(ctx, s.redis), s.cfg.Redis.Namespace)
		})
		return nil
	})
	group.Go(func() error { s.health.probe(ctx, "kafka", s.consumer.Ping); return nil })
	group.Go(func() error {
		s.index.Monitor(ctx, func(kind, text string) { s.health.warn("redis", kind, text) })
		return nil
	})
	group.Go(func() error { return s.consumer.Run(ctx) })
	err := group.Wait()
	if err == nil || errors.Is(err, context.Canceled) {
		s.log.Info("stopped")
		return nil
	}
	return err
}

// Close releases what newService opened. Run calls it.
func (s *service) Close() { _ = errors.Join(s.listener.Close(), s.redis.Close()) }
