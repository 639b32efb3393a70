// Package service wires index, pipeline and consumer to one running Echosieve, and serves its health and
// metrics over HTTP. The commands run and demo start it.
package service

import (
	"context"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/console"
	"echosieve/app/inquiry"
	"echosieve/app/otlp"
	"echosieve/app/refill"
	"echosieve/app/release"
	"echosieve/app/storylist"
	"echosieve/consumer"
	"echosieve/consumer/learning"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/watch"

	"golang.org/x/sync/errgroup"
)

// Service is one Echosieve process.
type Service struct {
	*process
	recipe   *recipe.Recipe
	index    *redisindex.Index
	reporter *watch.Reporter
	consumer *consumer.Consumer
	console  *console.Console // nil without http.console
	stories  *storylist.List  // nil without http.look and http.console
	reloader *reloader
}

// New loads the dictionaries and opens the HTTP listener. It connects to no server: Run does, and waits for
// servers that do not answer. The caller calls Run once, or Close.
func New(ctx context.Context, cfg config.Config, log *slog.Logger) (*Service, error) {
	p, recipe, err := newProcess(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	s := &Service{process: p, recipe: recipe}
	err = s.learns()
	if err == nil {
		err = s.open()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// learns makes the recipe leave sentences out that publishers repeat.
func (s *Service) learns() (err error) {
	if s.cfg.Kafka.Topics.Learnt == "" {
		return nil
	}
	rows := &learnt.Rows{}
	s.learnt, err = learning.New(s.cfg.Kafka, s.cfg.Window, rows, s.registry, s.log.With("component", "learning"),
		learning.Health{Report: s.health.report, Warn: s.health.warn})
	if err != nil {
		return err
	}
	s.recipe.LeaveOut(rows)
	s.closeWith(s.learnt.Close)
	return nil
}

// consume reads what others have learnt, and then joins the group.
func (s *Service) consume(ctx context.Context, group *errgroup.Group) error {
	if s.learnt != nil {
		if err := s.learnt.Open(ctx); err != nil {
			return err
		}
		group.Go(func() error { s.learnt.Run(ctx); return nil })
	}
	return s.consumer.Run(ctx)
}

// open makes the parts. What it opened before an error is in s.closers.
func (s *Service) open() (err error) {
	cfg := s.cfg
	s.index, err = redisindex.New(s.redis, cfg.IndexConfig(s.recipeID), s.registry,
		s.log.With("component", "index"), s.health.report)
	if err != nil {
		return err
	}
	s.reloader = newReloader(cfg, s.index.SetPolicy, s.registry, s.log)
	handler, err := s.newHandler()
	if err != nil {
		return err
	}
	s.consumer, err = consumer.New(cfg.Kafka, handler, s.registry, s.log.With("component", "consumer"),
		s.health.report)
	if err != nil {
		return err
	}
	if s.console != nil {
		s.console.Processes = s.consumer.Processes
	}
	// The index knows the highest numbers that Redis has shown it. Offsets are committed together with these
	// numbers: a process that starts later compares them with Redis, and so notices if Redis has lost writes
	// meanwhile. The commits also name the index: a process on another index than its group says so.
	handover := watch.NewHandover(s.redis, s.index.Keys(), cfg.Kafka.Group, cfg.Window)
	s.reporter = watch.NewReporter(handover, cfg.IsShadow(), s.registry, s.log.With("component", "index"))
	quiet := pipeline.New(s.stages(), s.recipe, s.index, nil) // what fills the index is in no metric of verdicts
	s.consumer.KeepLabels(labels{handover, &refill.Follower{Config: cfg, Handover: handover, Marks: admin.New(s.index),
		Pipeline: quiet, Log: s.log.With("component", "index")}, s.index.Losses(), s.reporter})
	s.consumer.WarnWith(func(kind, text string) { s.health.warn("kafka", kind, text) })
	tracing, err := otlp.New(command.ThisBuild().Version, s.registry, s.log.With("component", "tracing"))
	if err != nil {
		return err
	}
	s.closeWith(tracing.Close)
	s.consumer.TraceWith(tracing.Tracer())
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
	stages := pipeline.Config{Decode: decode, RecordConfig: s.cfg.Input.Records, Slow: s.health.slow,
		MaxMessageBytes: s.cfg.Kafka.MaxMessageBytes, Window: s.cfg.Window,
		Member:     s.cfg.Output.Verdict == pipeline.VerdictInValue,
		NoPossible: s.cfg.Kafka.Topics.Possible == ""}
	if s.learnt != nil {
		stages.Learnt = s.learnt
	}
	return stages
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
		s.closeWith(s.stories.Close)
	}
	if cfg.HTTP.Console {
		log := s.log.With("component", "console")
		releaser, err := release.New(cfg, s.index, io.Discard)
		if err != nil {
			return nil, err
		}
		s.closeWith(releaser.Close)
		s.console = console.New(cfg, s.recipe, s.stories.Handler(console.StoriesPath, log), releaser, log)
		s.closeWith(s.console.Close)
		stages.Shown = s.console.Show
	}
	stages.Shadow = cfg.IsShadow()
	return pipeline.New(stages, s.recipe, s.index, s.registry), nil
}

// Run serves until ctx ends. Then it finishes and commits the batches under way, leaves the group and returns
// nil. It returns an error if something fails permanently.
func (s *Service) Run(ctx context.Context) error {
	defer s.Close()
	s.log.Info("starting", "version", command.ThisBuild().Version, "recipe", s.recipeID, "input",
		s.cfg.Kafka.Topics.Inputs, "group", s.cfg.Kafka.Group, "brokers", s.cfg.Kafka.Brokers, "redis", s.cfg.Redis.Addrs,
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
		log := s.log.With("component", "look")
		looks, versions := inquiry.NewLooker(s.cfg, s.recipe, s.index).Handler(log), inquiry.NewVersions(s.cfg, s.recipe)
		defer versions.Close()
		pages[inquiry.Path], pages[inquiry.Description], pages[inquiry.ChangesPath] = looks, looks, versions.Handler(log)
		servesStories(pages, s.stories, s.log)
	}
	if s.console != nil {
		pages[console.Path] = s.console
		// Pages keep their requests open. Without this the listener would wait for them when the service stops.
		context.AfterFunc(ctx, s.console.Close)
	}
	s.serve(ctx, group, pages)
	s.probe(ctx, group, "kafka", s.consumer.Ping)
	warn := func(kind, text string) { s.health.warn("redis", kind, text) }
	group.Go(func() error { s.index.Losses().Monitor(ctx, warn); return nil })
	group.Go(func() error { s.reporter.Watch(ctx, warn); return nil })
	group.Go(func() error { s.reloader.run(ctx); return nil })
	group.Go(func() error { return s.consume(ctx, group) })
	return s.wait(asked, group)
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
