package service

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/inquiry"
	"echosieve/app/storylist"
	"echosieve/consumer"
	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/redisindex/keyspace"
	"echosieve/stories"
	"echosieve/stories/projector"
)

// StoriesConfig holds what the role of stories needs beside the settings of the service.
type StoriesConfig struct {
	Topic   string   // of the records of stories; empty: storylist.Topic of the input
	Owners  string   // file, see stories.Owners; may be empty
	Trusted []string // see stories.Rules
	Rebuild bool     // begin a new edition
	Changes bool     // publish to ChangesTopic, too
	Labels  string   // topic of labels; empty: none
}

// Stories is a process of the role of stories: it reads the output topics and keeps a record of each story.
type Stories struct {
	*process
	role    StoriesConfig
	rules   *stories.Rules
	keys    keyspace.Keys
	metrics *projector.Metrics
	archive *tools.Archive
	roots   *projector.Roots
	list    *storylist.List
	name    string // of this process in its groups

	registries sync.Map // *prometheus.Registry by topic, see collectLag
}

// ChangesTopic returns the name of the topic that says what is new in versions.
func ChangesTopic(input string) string { return input + "-changes" }

// garbage is the memory in percent of what lives that may wait for the garbage collector, unless GOGC says it. Little
// lives here, some 15 MB, so the collector would run ten times a second by default and take a tenth of the time.
const garbage = 200

// keptWindows is how many windows the topic of stories keeps a record that does not change.
const keptWindows = 2

// NewStories loads the settings and opens the HTTP listener. It connects to no server. The caller calls Run once.
func NewStories(ctx context.Context, cfg config.Config, role StoriesConfig, log *slog.Logger) (*Stories, error) {
	role.Topic = cmp.Or(role.Topic, storylist.Topic(cfg.Kafka.Topics.First()))
	owners, err := stories.Owners(role.Owners)
	if err != nil {
		return nil, fmt.Errorf("--owners: %w", err)
	}
	p, _, err := newProcess(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	s := &Stories{process: p, role: role, roots: projector.NewRoots(),
		metrics: projector.NewMetrics(p.registry), keys: keyspace.New(cfg.IndexConfig(p.recipeID), cfg.Redis.DB),
		rules: &stories.Rules{Window: cfg.Window, Owners: owners, Trusted: role.Trusted},
		name:  consumer.NewName(p.HTTPAddr(), "")}
	p.registry.MustRegister(prometheus.CollectorFunc(s.collectLag))
	if s.archive, err = tools.NewArchive(cfg.Kafka, cfg.Kafka.Topics.Inputs...); err == nil {
		p.closeWith(s.archive.Close)
		s.list, err = storylist.New(cfg.Kafka, role.Topic, cfg.Window)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.closeWith(s.list.Close)
	return s, nil
}

// Run serves until ctx ends, and returns nil then.
func (s *Stories) Run(ctx context.Context) error {
	defer s.Close()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	s.log.Info("starting stories", "version", command.ThisBuild().Version, "topic", s.role.Topic, "http",
		s.listener.Addr())
	versions, err := s.newVersions()
	if err != nil {
		return err
	}
	asked := ctx
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range versions {
		group.Go(func() error { return c.Run(ctx) })
	}
	pages := map[string]http.Handler{}
	if s.cfg.HTTP.Look {
		pages[inquiry.Description] = http.HandlerFunc(inquiry.Describe)
		servesStories(pages, s.list, s.log)
	}
	s.serve(ctx, group, pages)
	group.Go(func() error { return s.project(ctx) })
	return s.wait(asked, group)
}

// project serves one edition of stories after another.
func (s *Stories) project(ctx context.Context) error {
	for rebuild := s.role.Rebuild; ; rebuild = false {
		kept, err := s.open(ctx, rebuild)
		if err != nil {
			return err
		}
		s.log.Info("stories of one edition", "edition", kept.Edition(), "rebuild", rebuild)
		err = s.edition(ctx, kept)
		if !errors.Is(err, projector.ErrEdition) {
			return err
		}
		s.metrics.Began(errors.Is(err, projector.ErrLost))
		s.log.Warn("the stories are built anew, from the start of the output topics", "because", err)
	}
}

// opening is the call that waits for the edition of the stories.
type opening struct{}

func (opening) String() string { return "stories: edition" }

// open opens the stories of the current edition, as soon as Redis takes it. The error is ctx's.
func (s *Stories) open(ctx context.Context, rebuild bool) (kept *projector.Store, err error) {
	defer s.health.report("redis", opening{}, nil)
	err = stopping.Until(ctx, 0, func(ctx context.Context) (err error) {
		kept, err = projector.Open(ctx, s.redis, s.keys, s.cfg.Redis.Namespace, s.cfg.Window, rebuild)
		if err != nil && ctx.Err() == nil {
			s.health.report("redis", opening{}, err)
		}
		return err
	})
	return kept, err
}

// edition reads the output topics into the stories of one edition.
func (s *Stories) edition(ctx context.Context, kept *projector.Store) error {
	names := s.outputs()
	if s.role.Labels != "" {
		names = append(names, s.role.Labels)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return watchEdition(ctx, kept) })
	var all []*consumer.Consumer
	for _, name := range names {
		c, err := s.newConsumer(kept, name)
		if err != nil {
			return err
		}
		all = append(all, c)
		group.Go(func() error { return c.Run(ctx) })
	}
	s.probe(ctx, group, "kafka", func(ctx context.Context) error { return reads(ctx, all) })
	return group.Wait()
}

// reads returns why not all topics are read yet.
func reads(ctx context.Context, all []*consumer.Consumer) error {
	err := all[0].Ping(ctx)
	if err == nil && slices.ContainsFunc(all, func(c *consumer.Consumer) bool { return !c.Joined() }) {
		return diag.Waits("the groups that read the output topics are being joined")
	}
	return err
}

// editionInterval is the time between two looks at the edition, while no record comes.
const editionInterval = 2 * time.Second

// watchEdition returns projector.ErrEdition when there is another edition, and nil when ctx ends.
func watchEdition(ctx context.Context, kept *projector.Store) error {
	for stopping.Wait(ctx, editionInterval) == nil {
		if _, err := kept.Read(ctx, nil); errors.Is(err, projector.ErrEdition) {
			return err // the health probe reports others
		}
	}
	return nil
}

// outputs are the topics that hold articles.
func (s *Stories) outputs() []string {
	topics := s.cfg.Kafka.Topics
	return slices.DeleteFunc([]string{topics.Unique, topics.Duplicate, topics.Possible},
		func(name string) bool { return name == "" })
}

// kafka returns the settings of a consumer of one output topic, in a group with a name of its own.
func (s *Stories) kafka(topic, group, to string) broker.Config {
	kafka := s.cfg.Kafka
	kafka.TransactionalIDPrefix = cmp.Or(kafka.TransactionalIDPrefix, kafka.Group)
	kafka.Group = fmt.Sprintf("%s-stories-%s-%s", kafka.Group, group, topic)
	kafka.Delivery = broker.ExactlyOnce
	kafka.Topics.Inputs, kafka.Topics.Shadow, kafka.Topics.Learnt = []string{topic}, to, ""
	return kafka
}

// newVersions returns the consumers that publish what is new in versions; none without StoriesConfig.Changes.
func (s *Stories) newVersions() (all []*consumer.Consumer, err error) {
	for _, topic := range s.outputs() {
		if !s.role.Changes {
			break
		}
		kafka := s.kafka(topic, "changes", ChangesTopic(s.cfg.Kafka.Topics.First()))
		kafka.TransactionalIDPrefix += "/changes" // the stories have that of the partition
		kafka.Partitions = 1                      // the versions of a story follow each other
		p := &projector.Projector{Rules: s.rules, Decoder: decode.New(s.cfg.Input.Config), Root: s.root,
			Health: s.health.report}
		c, err := consumer.New(kafka, &projector.Versions{Projector: p}, prometheus.NewRegistry(),
			s.log.With("component", "consumer", "reads", topic, "group", kafka.Group), s.health.report)
		if err != nil {
			return nil, err
		}
		c.NameMember(s.name)
		all = append(all, c)
	}
	return all, nil
}

// newConsumer returns the consumer of one output topic. Its group is one of the edition, so a new one begins at the
// start. Its transactional ids stay: it fences the owners of the old edition.
func (s *Stories) newConsumer(kept *projector.Store, topic string) (*consumer.Consumer, error) {
	kafka := s.kafka(topic, kept.Edition(), s.role.Topic)
	kafka.BatchRecords *= 16 // a story is read, stored and published once in a batch
	kafka.Topics.SnapshotsFor = keptWindows * s.cfg.Window
	input := s.cfg.Input.Config
	input.FindPublished = true
	p := &projector.Projector{Store: kept, Rules: s.rules, Decoder: decode.New(input), Root: s.root, Roots: s.roots,
		Health: s.health.report, Metrics: s.metrics, Labels: topic == s.role.Labels}
	registry := prometheus.NewRegistry()
	s.registries.Store(topic, registry)
	c, err := consumer.New(kafka, p, registry, s.log.With("component", "consumer", "reads", topic),
		s.health.report)
	if err != nil {
		return nil, err
	}
	c.NameMember(s.name)
	p.Topic = func() uint32 {
		id, hash := c.InputID(), fnv.New32a()
		_, _ = hash.Write(append(id[:], topic...)) // never fails
		return binary.BigEndian.Uint32(hash.Sum(nil))
	}
	return c, nil
}

// root reads the record of a root from its input topic.
func (s *Stories) root(ctx context.Context, at article.Coordinates) (r record.Record, found bool, err error) {
	if !slices.Contains(s.cfg.Kafka.Topics.Inputs, at.Topic) {
		return r, false, nil
	}
	r, err = s.archive.Record(ctx, at)
	if errors.Is(err, tools.ErrNoRecord) {
		return r, false, nil
	}
	return r, err == nil, err
}

var lagDesc = prometheus.NewDesc("echosieve_stories_lag_records",
	"Records of an output topic in partitions of this process that are not yet in the stories.", []string{"topic"}, nil)

// collectLag says how far the stories are behind the output topics. The role has a consumer for each topic, and another
// one in each edition, so the metrics of consumers would collide: each topic has a registry for its last consumer.
func (s *Stories) collectLag(to chan<- prometheus.Metric) {
	for topic, registry := range s.registries.Range {
		records := 0.0
		families, _ := registry.(*prometheus.Registry).Gather() // what it could gather
		for _, family := range families {
			if family.GetName() == "echosieve_consumer_lag_records" {
				for _, partition := range family.GetMetric() {
					records += partition.GetGauge().GetValue()
				}
			}
		}
		to <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, records, topic.(string))
	}
}
