// Package service wires index, pipeline and consumer to one running Echosieve, and serves its health and
// metrics over HTTP. The commands run and demo start it.
package service

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"

	"echosieve/app/access"
	"echosieve/app/build"
	"echosieve/app/config"
	"echosieve/app/console"
	"echosieve/app/otlp"
	"echosieve/app/refill"
	"echosieve/app/registry"
	"echosieve/app/storylist"
	"echosieve/app/told"
	"echosieve/consumer"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/redisindex/watch"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// Service is one Echosieve process.
type Service struct {
	log      *slog.Logger
	registry *prometheus.Registry
	health   *health
	recipe   *recipe.Recipe
	redis    redis.UniversalClient
	index    *redisindex.Index
	reporter *watch.Reporter
	consumer *consumer.Consumer
	schemas  *registry.Client // nil without input.registry
	console  *console.Console // nil without http.console
	stories  *storylist.List  // nil without http.look and http.console
	access   *access.Access   // nil without a login and TLS
	listener net.Listener
	reloader *reloader
	opened   closers
	cfg      config.Config
}

// New loads the dictionaries and opens the HTTP listener. It connects to no server: Run does, and waits for
// servers that do not answer. The caller calls Run once, or Close.
func New(ctx context.Context, cfg config.Config, log *slog.Logger) (*Service, error) {
	s := &Service{cfg: cfg, log: log, registry: prometheus.NewRegistry()}
	s.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	components := []string{"kafka", "redis"}
	if s.schemas, _ = cfg.Input.Schemas.(*registry.Client); s.schemas != nil {
		components = append(components, registry.Component)
	}
	s.health = newHealth(s.registry, log, components...)
	s.reloader = newReloader(cfg, s.registry, log)
	var err error
	if s.access, err = access.Load(cfg.HTTP, log.With("component", "http")); err != nil {
		return nil, err
	}
	if s.recipe, err = cfg.LoadRecipe(); err != nil {
		return nil, err
	}
	// Loading the dictionaries leaves garbage of the same size. Without this call an idle process would keep
	// that memory for minutes.
	debug.FreeOSMemory()
	registerBuildInfo(s.registry, s.recipe.ID(), keyspace.IDOf(cfg.IndexConfig(s.recipe.ID()), cfg.Redis.DB).String(),
		cfg.IsShadow())
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// open makes what must be closed, and the listener last. What it made before an error is in s.opened.
func (s *Service) open(ctx context.Context) (err error) {
	cfg := s.cfg
	if s.redis, err = connection.Connect(cfg.Redis.Options); err != nil {
		return err
	}
	s.opened.add(func() { _ = s.redis.Close() })
	s.index, err = redisindex.New(s.redis, cfg.IndexConfig(s.recipe.ID()), s.registry,
		s.log.With("component", "index"), s.health.report)
	if err != nil {
		return err
	}
	s.reloader.setPolicy = s.index.SetPolicy
	handler, err := s.newHandler()
	if err != nil {
		return err
	}
	s.consumer, err = consumer.New(cfg.Kafka, handler, s.registry, s.log.With("component", "consumer"),
		s.health.report)
	if err != nil {
		return err
	}
	// The index knows the highest numbers that Redis has shown it. Offsets are committed together with these
	// numbers: a process that starts later compares them with Redis, and so notices if Redis has lost writes
	// meanwhile. The commits also name the index: a process on another index than its group says so.
	handover := watch.NewHandover(s.redis, s.index.Keys(), cfg.Kafka.Group, cfg.Window)
	s.reporter = watch.NewReporter(handover, cfg.IsShadow(), s.registry, s.log.With("component", "index"))
	quiet, err := pipeline.New(s.stages(), s.recipe, s.index, nil) // what fills the index is in no metric of verdicts
	if err != nil {
		return err
	}
	s.consumer.KeepLabels(labels{handover, &refill.Follower{Config: cfg, Handover: handover, Marks: admin.New(s.index),
		Pipeline: quiet, Log: s.log.With("component", "index")}, s.index.Losses(), s.reporter})
	s.consumer.WarnWith(func(kind, text string) { s.health.warn("kafka", kind, text) })
	tracing, err := otlp.New(build.Version(), s.registry, s.log.With("component", "tracing"))
	if err != nil {
		return err
	}
	s.opened.add(tracing.Close)
	s.consumer.TraceWith(tracing.Tracer())
	if s.listener, err = s.opened.listen(ctx, cfg.HTTP.Listen); err != nil {
		return err
	}
	name := fnv.New32a()
	_, _ = name.Write([]byte(s.index.Keys().ID.String())) // never fails
	s.consumer.NameMember(consumer.NewName(s.HTTPAddr(), strconv.FormatUint(uint64(name.Sum32()), 36)))
	return nil
}

// stages is the configuration of the pipeline.
func (s *Service) stages() pipeline.Config {
	decode := s.cfg.Input.Config
	if s.schemas != nil {
		decode.Schemas = s.schemas.Waiting(s.health.report)
	}
	return pipeline.Config{Decode: decode, RecordConfig: s.cfg.Input.Records, Slow: s.health.slow,
		MaxMessageBytes: s.cfg.Kafka.MaxMessageBytes, Window: s.cfg.Window, Member: s.cfg.Output.MemberName(),
		NoPossible: s.cfg.Kafka.Topics.Possible == ""}
}

// newHandler returns what decides the records, with the console and the list of stories if the settings have them.
func (s *Service) newHandler() (consumer.Handler, error) {
	cfg, stages := s.cfg, s.stages()
	if cfg.HTTP.ShowsArticles() != "" {
		list, err := storylist.New(cfg.Kafka, storylist.Topic(cfg.Kafka.Topics.First()), cfg.Window)
		if err != nil {
			return nil, err
		}
		s.stories = list
		s.opened.add(s.stories.Close)
	}
	if cfg.HTTP.Console {
		log := s.log.With("component", "console")
		s.console = console.New(cfg, s.recipe, s.stories.Handler(console.StoriesPath, log), log)
		s.opened.add(s.console.Close)
		stages.Shown = s.console.Show
	}
	made, err := pipeline.New(stages, s.recipe, s.index, s.registry)
	if err != nil {
		return nil, err
	}
	if cfg.IsShadow() {
		return &pipeline.Shadow{Pipeline: made}, nil
	}
	return made, nil
}

// closers close what was opened, the last first.
type closers []func()

func (c *closers) add(closes func()) { *c = append(*c, closes) }

func (c *closers) close() {
	for _, closes := range slices.Backward(*c) {
		closes()
	}
}

// listen opens the HTTP listener.
func (c *closers) listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("http.listen: %w (is another process using the port? set http.listen)", err)
	}
	c.add(func() { _ = l.Close() })
	return l, nil
}

// Run serves until ctx ends. Then it finishes and commits the batches under way, leaves the group and returns
// nil. It returns an error if something fails permanently.
func (s *Service) Run(ctx context.Context) error {
	defer s.Close()
	s.log.Info("starting", "version", build.Version(), "recipe", s.recipe.ID(), "input", s.cfg.Kafka.Topics.Inputs,
		"group", s.cfg.Kafka.Group, "brokers", s.cfg.Kafka.Brokers, "redis", s.cfg.Redis.Addrs,
		"window", s.cfg.Window, "http", s.HTTPAddr())
	if s.cfg.IsShadow() {
		s.log.Info("this is a shadow: it publishes to one topic only", "topic", s.cfg.Kafka.Topics.Shadow,
			"namespace", s.cfg.Redis.Namespace)
	}
	for _, f := range Unprotected(s.cfg) {
		s.log.Warn("a connection is not protected", "component", f.Component, "problem", f.Problem, "remedy", f.Remedy)
	}
	asked := ctx
	group, ctx := errgroup.WithContext(ctx)
	pages := map[string]http.Handler{}
	if s.cfg.HTTP.Look {
		looks := told.NewLooker(s.cfg, s.recipe, s.index).Handler(s.log.With("component", "look"))
		pages[told.Path], pages[told.Description] = looks, looks
		servesStories(pages, s.stories, s.log)
	}
	if s.console != nil {
		pages[console.Path] = s.console
		// Pages keep their requests open. Without this the listener would wait for them when the service stops.
		context.AfterFunc(ctx, s.console.Close)
	}
	handler := newHTTPHandler(s.cfg.HTTP, s.access, s.registry, s.health, pages)
	group.Go(func() error { return serveHTTP(ctx, s.listener, s.access.TLS(), handler, s.log) })
	group.Go(func() error {
		s.health.probe(ctx, "redis", func(ctx context.Context) error {
			return connection.Explain(connection.Ping(ctx, s.redis), s.redis, s.cfg.Redis.Namespace)
		})
		return nil
	})
	group.Go(func() error { s.health.probe(ctx, "kafka", s.consumer.Ping); return nil })
	if s.schemas != nil {
		group.Go(func() error { s.health.probe(ctx, registry.Component, s.schemas.Ping); return nil })
	}
	group.Go(func() error {
		s.index.Losses().Monitor(ctx, func(kind, text string) { s.health.warn("redis", kind, text) })
		return nil
	})
	group.Go(func() error {
		s.reporter.Watch(ctx, func(kind, text string) { s.health.warn("redis", kind, text) })
		return nil
	})
	group.Go(func() error { s.reloader.run(ctx); return nil })
	group.Go(func() error { return s.consumer.Run(ctx) })
	err := group.Wait()
	if err == nil || asked.Err() != nil && errors.Is(err, context.Canceled) {
		s.log.Info("stopped")
		return nil
	}
	return err
}

// HTTPAddr returns the address of the HTTP listener.
func (s *Service) HTTPAddr() string { return s.listener.Addr().String() }

// RecipeID returns the id of the recipe that the service applies.
func (s *Service) RecipeID() string { return s.recipe.ID() }

// Close releases what New opened. Run calls it.
func (s *Service) Close() { s.opened.close() }

// buildInfo is the name of the metric that says what runs.
const buildInfo = "echosieve_build_info"

// registerBuildInfo registers the metric echosieve_build_info. Its value is always 1; its labels name
// version, recipe and index, and say whether this is a shadow.
func registerBuildInfo(reg prometheus.Registerer, recipeID, index string, shadow bool) {
	b := build.Read()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: buildInfo,
		Help: "Always 1; the labels name version, recipe and index.",
		ConstLabels: prometheus.Labels{
			"version": b.Version, "revision": b.Revision, "goversion": b.Go, "recipe": recipeID, "index": index,
			"shadow": strconv.FormatBool(shadow),
		},
	})
	gauge.Set(1)
	reg.MustRegister(gauge)
}

// labels joins the index and the consumer: what the index wants to be remembered is committed beside the offsets.
type labels struct {
	*watch.Handover  // Decider
	*refill.Follower // CatchUp
	losses           *watch.Losses
	reporter         *watch.Reporter
}

// Label implements consumer.Labels.
func (l labels) Label() string { return l.losses.Label() }

// Recall implements consumer.Labels.
func (l labels) Recall(committed map[article.Coordinates]string) {
	l.losses.Recall(slices.Collect(maps.Values(committed)))
	l.reporter.Recall(committed)
}
