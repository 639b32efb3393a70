// Package pipeline turns records into outputs: it finds the article in a record's value (package decode), makes
// its fingerprint (package recipe), asks the index for the verdict (Index), and writes the verdict into headers of
// the output (output.go). It knows neither Kafka nor Redis.
//
// There are two classes of failure. A record that can never be processed becomes a dead letter with a
// record.RejectReason, and the stream goes on. Any other failure (the index is away, the context has ended) is
// returned, and nothing is published. All permanent failures are found before the batch is claimed: every
// article in the index must also reach an output, because later copies name it as their original.
package pipeline

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// RecordConfig says what happens to records that hold no article, and what is counted of all. It decides no verdict.
type RecordConfig struct {
	Tombstones      string `setting:"tombstones"`
	PublisherLabels int    `setting:"publisher_labels" range:"0..1000"`
}

// The values of RecordConfig.Tombstones.
const (
	TombstonesUnique = "unique"
	TombstonesSkip   = "skip"
)

// DefaultRecordConfig passes null values on, and counts no publishers.
func DefaultRecordConfig() RecordConfig {
	return RecordConfig{Tombstones: TombstonesUnique}
}

// Validate returns an error that names the wrong setting and its allowed values. The ranges of numbers are in their
// tags.
func (c RecordConfig) Validate() error {
	if c.Tombstones != TombstonesUnique && c.Tombstones != TombstonesSkip {
		return fmt.Errorf("tombstones: %q is not one of unique, skip", c.Tombstones)
	}
	return nil
}

// Config says how a Pipeline decodes records and which of them are too large.
type Config struct {
	Decode decode.Config
	RecordConfig
	// MaxMessageBytes is the size of the largest record that the output topics accept, in bytes.
	MaxMessageBytes int
	// Window is the window of the index. A record whose timestamp is older is counted as late. 0: none is counted.
	Window time.Duration
	// Member says that JSON objects get a member with the verdict.
	Member bool
	// Slow is told of a record that has been prepared for slowAfter, and again with prepared when it is. May be nil.
	Slow func(at article.Coordinates, prepared bool)
	// Shown is told of acknowledged outputs, and keeps no reference to them. May be nil.
	Shown func([]Output)
	// Shadow sends every output to the topic of the shadow instead of the topic that the verdict names, so that the
	// verdicts of other settings can be compared with those of the service, which they do not disturb. Each output has
	// the additional header HeaderShadow, whose value is the destination that the service would have chosen.
	Shadow bool
	// NoPossible puts into the topic unique what belongs into the topic possible: there is none.
	NoPossible bool
	// Learnt keeps the sentences that publishers repeat, and knows which of them count. Nil: nothing is learnt.
	Learnt Learnt
}

// slowAfter is some thousand times what an ordinary article takes.
const slowAfter = 10 * time.Second

// Pipeline runs the stages over batches of records. Safe for concurrent use.
type Pipeline struct {
	cfg        Config
	decoder    *decode.Decoder
	recipe     *recipe.Recipe
	index      Index
	metrics    *metrics
	publishers *publisherCounter
	now        func() time.Time
	cores      chan struct{} // bounds the articles that are fingerprinted at a time, and hence the threads in cgo
	added      int           // most bytes that a verdict adds to a record
	asking     int           // workers of a batch beyond those that have a core: they ask for schemas
}

// maxAsking bounds the schemas that one batch asks for at a time. One after another, a batch of unknown ids
// would take a second.
const maxAsking = 8

// New returns a Pipeline. With a nil registerer the metrics are not registered.
func New(cfg Config, recipe *recipe.Recipe, index Index, reg prometheus.Registerer) *Pipeline {
	cores, asking := make(chan struct{}, runtime.GOMAXPROCS(0)), 0
	if cfg.Decode.Schemas != nil {
		asking = maxAsking
		cfg.Decode.Schemas = yielding{cfg.Decode.Schemas, cores}
	}
	p := &Pipeline{
		cfg: cfg, decoder: decode.New(cfg.Decode), recipe: recipe, index: index, metrics: newMetrics(reg),
		publishers: newPublisherCounter(cfg.PublisherLabels, reg), now: time.Now,
		cores: cores, asking: asking, added: maxVerdictHeaderBytes,
	}
	if cfg.Member {
		p.added += maxMemberBytes()
	}
	return p
}

// yielding lets other articles have the core while a schema is asked for. The caller holds a core.
type yielding struct {
	decode.Schemas
	cores chan struct{}
}

func (y yielding) Schema(ctx context.Context, id string) (*decode.Schema, error) {
	<-y.cores
	defer func() { y.cores <- struct{}{} }()
	return y.Schemas.Schema(ctx, id)
}

// Batch holds consecutive records of one partition, and their articles after Prepare.
type Batch struct {
	Records []record.Record
	// Traceparent is the identity of the batch's trace, which each output carries in HeaderTraceparent; empty
	// if the batch is not traced.
	Traceparent string
	// Limits are those of the output topics when the batch is decided. Records that they exclude become dead
	// letters before they are claimed.
	Limits BatchLimits
	// Work is what another handler than Pipeline keeps of the batch.
	Work     any
	prepared []prepared // prepared[i] belongs to Records[i]
}

// prepared is one record after Prepare. Exactly one of three is set: reject, tombstone or article.
type prepared struct {
	article   article.Article
	content   article.Content // without the text and the URL
	house     string          // see article.PublisherOf
	reject    *record.RejectError
	tombstone bool
}

// Prepare decodes and fingerprints the records on all cores. It keeps recs. A record that cannot be processed
// becomes a dead letter. Prepare returns an error only if decode.Config.Schemas does: a *decode.Pending says what to
// wait for.
func (p *Pipeline) Prepare(ctx context.Context, recs []record.Record) (*Batch, error) {
	b := &Batch{Records: recs, prepared: make([]prepared, len(recs))}
	if err := p.await(ctx, recs); err != nil {
		return nil, fmt.Errorf("pipeline: prepare: %w", err)
	}
	var next atomic.Int64
	workers, working := errgroup.WithContext(ctx)
	for range min(cap(p.cores)+p.asking, len(recs)) {
		workers.Go(func() (err error) {
			p.cores <- struct{}{}
			defer func() { <-p.cores }()
			for i := next.Add(1) - 1; i < int64(len(recs)) && err == nil; i = next.Add(1) - 1 {
				b.prepared[i], err = p.prepare(working, &recs[i])
			}
			return err
		})
	}
	err := workers.Wait()
	if err == nil {
		err = p.learn(ctx, b)
	}
	if err != nil {
		return nil, fmt.Errorf("pipeline: prepare: %w", err)
	}
	return b, nil
}

// prepare decodes and fingerprints one record.
func (p *Pipeline) prepare(ctx context.Context, r *record.Record) (prepared, error) {
	if r.Oversize != nil && r.Oversize.Batch > 0 {
		return prepared{reject: record.Reject(record.TooLarge,
			"decompressing its record batch takes %d MiB of memory: publish smaller batches", r.Oversize.Batch>>20)}, nil
	}
	if n := recordBytes(r) + p.added; n > p.cfg.MaxMessageBytes {
		return prepared{reject: tooLarge(n, p.cfg.MaxMessageBytes, "the output topics take")}, nil
	}
	if r.Value == nil {
		return prepared{tombstone: true}, nil
	}
	if p.cfg.Slow != nil {
		at := r.Coordinates
		slow := time.AfterFunc(slowAfter, func() { p.cfg.Slow(at, false) })
		defer func() {
			if !slow.Stop() {
				p.cfg.Slow(at, true)
			}
		}()
	}
	start := time.Now()
	var one prepared
	err := p.decoder.With(ctx, r, func(content article.Content, reject *record.RejectError) {
		p.metrics.observe(StageDecode, time.Since(start))
		one = p.fingerprint(r, content, reject)
	})
	return one, err
}

// fingerprint makes the article of what was decoded.
func (p *Pipeline) fingerprint(r *record.Record, content article.Content, reject *record.RejectError) prepared {
	switch {
	case reject.IsDeletion():
		return prepared{tombstone: true}
	case reject != nil:
		return prepared{reject: reject}
	}
	a, timing := p.recipe.Fingerprint(content.Text, content.Origin(r.Time))
	p.metrics.observe(StageClean, timing.Clean)
	p.metrics.observe(StageSegment, timing.Segment)
	p.metrics.observe(StageFingerprint, timing.Fingerprint)
	if reject = record.NoArticle(&a); reject != nil {
		return prepared{reject: reject}
	}
	p.metrics.countText(&a)
	if released, ok := ReleaseOf(r); ok {
		release(&a, released)
	}
	a.Coordinates, a.ID, a.Time, a.Undated = r.Coordinates, content.ID, r.Time, r.Undated
	house := article.PublisherOf(content.Publisher, content.URL)
	content.Text, content.URL = "", "" // the record holds them until it is published
	return prepared{article: a, content: content, house: house}
}

// Article returns the article that Prepare made of Records[i]. Both results are nil if the record is a tombstone.
func (b *Batch) Article(i int) (*article.Article, *record.RejectError) {
	one := &b.prepared[i]
	if one.reject != nil || one.tombstone {
		return nil, one.reject
	}
	return &one.article, nil
}

// Decide claims the articles and returns the outputs in the records' order. Skipped tombstones have no
// output. Decide blocks while the index is away and returns an error only when ctx ends. After an error
// nothing may be published; the batch may be decided again and gets the same verdicts.
func (p *Pipeline) Decide(ctx context.Context, b *Batch) ([]Output, error) {
	p.rejectBeyondLimits(b)
	articles := make([]article.Article, 0, len(b.prepared))
	for i := range b.prepared {
		if one := &b.prepared[i]; !one.tombstone && one.reject == nil {
			articles = append(articles, one.article)
		}
	}
	var verdicts []article.Verdict
	if len(articles) > 0 {
		start := time.Now()
		var err error
		if verdicts, err = p.index.Claim(ctx, articles); err != nil {
			return nil, fmt.Errorf("pipeline: decide: %w", err)
		}
		p.metrics.observe(StageClaim, time.Since(start))
	}
	outputs := make([]Output, 0, len(b.prepared))
	for i := range b.prepared {
		one, r := &b.prepared[i], &b.Records[i]
		switch {
		case one.reject != nil:
			outputs = append(outputs, p.dead(b, r, one.reject))
		case !one.tombstone:
			out := verdictOutput(r, &one.article, &verdicts[0], p.recipe.ID())
			out.Content = one.content
			if p.cfg.NoPossible && out.Destination == article.ToPossible {
				out.Destination = article.ToUnique
			}
			p.addMember(&out)
			outputs = append(outputs, out)
			verdicts = verdicts[1:]
		case p.cfg.Tombstones != TombstonesSkip:
			outputs = append(outputs, tombstoneOutput(r, p.recipe.ID()))
		default:
			p.metrics.records.WithLabelValues("skipped", "tombstone").Inc()
		}
	}
	for i := range outputs {
		p.finish(b, &outputs[i])
	}
	return outputs, nil
}

// rejectBeyondLimits makes dead letters of the records that an output topic would refuse. They must not be
// claimed: an article whose record was refused after its claim stands in the index, and later articles would
// become copies of an article that was never published.
func (p *Pipeline) rejectBeyondLimits(b *Batch) {
	now := p.now()
	for i := range b.prepared {
		one := &b.prepared[i]
		if one.reject == nil && (!one.tombstone || p.cfg.Tombstones != TombstonesSkip) {
			one.reject = b.Limits.refuse(&b.Records[i], recordBytes(&b.Records[i])+p.added+p.repaired(&b.Records[i]), now)
		}
	}
}

// Acknowledged counts outputs that the broker has acknowledged. took is how long publishing them took.
func (p *Pipeline) Acknowledged(outputs []Output, took time.Duration) {
	now := p.now()
	for i := range outputs {
		o := &outputs[i]
		p.metrics.records.WithLabelValues(o.VerdictName(), o.Reason).Inc()
		p.publishers.count(o)
		p.observeTime(o.Record.Time, now)
		if o.Verdict.Kind.IsCopy() {
			p.metrics.relations.WithLabelValues(o.Verdict.Relation.String(), o.Verdict.Destination.String()).Inc()
		}
		if o.Verdict.HasOriginal() {
			p.metrics.distance.Observe(float64(o.Verdict.Distance))
		}
	}
	p.metrics.observe(StagePublish, took)
	if p.cfg.Shown != nil {
		p.cfg.Shown(outputs)
	}
}

// maxFuture is how far ahead of the clock a timestamp may be.
const maxFuture = 24 * time.Hour

// observeTime counts a timestamp that is far from the clock and observes the delay of the verdict. Nothing is
// decided by the distance to the clock: verdicts depend on the records' timestamps only, so that a backlog
// gets the same verdicts as it would have got in time.
//
// A delay is never negative: a timestamp ahead of the clock counts as 0 s. A timestamp beyond maxFuture says
// nothing about the delay and is left out.
func (p *Pipeline) observeTime(at, now time.Time) {
	switch {
	case at.After(now.Add(maxFuture)):
		p.metrics.eventTime.WithLabelValues(eventFuture).Inc()
		return
	case p.cfg.Window > 0 && at.Before(now.Add(-p.cfg.Window)):
		p.metrics.eventTime.WithLabelValues(eventLate).Inc()
	}
	p.metrics.delay.Observe(max(0, now.Sub(at)).Seconds())
}

// Index remembers articles for a window and finds, for each new article, the earlier article that it repeats.
//
// Claim stores the articles and returns their verdicts: verdict i belongs to articles[i]. Within one call the
// articles arrive in their order: an article can repeat an earlier one of the same call, never a later one.
//
// Claim is idempotent: the same Coordinates get the same Verdict again, with the same destination, for as
// long as the window remembers them, whatever other calls have claimed in between, and however often an
// earlier call failed half-way. Of two articles that are copies of each other, and of which each is found by
// the look-ups of the other, at least one gets a verdict that IsCopy. The earlier article never becomes a
// copy of the later one.
//
// Claim blocks while its store is away and returns an error only when ctx ends. It never guesses a verdict.
//
// Retract makes a claimed article the original of nothing from now on, because it could not be published.
// When it is claimed again, it gets the verdict that it had. An article that is not stored is no error.
// Retract blocks as Claim does. Both are safe for concurrent use.
type Index interface {
	Claim(ctx context.Context, articles []article.Article) ([]article.Verdict, error)
	Retract(ctx context.Context, a *article.Article) error
}
