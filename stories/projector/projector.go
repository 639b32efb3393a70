// Package projector turns the records of the output topics into records of stories. It is a consumer.Handler with
// snapshots of the stories that a batch has touched as its outputs.
//
// Redis holds the state of each story, and the topic of stories its latest snapshot. That stays true while processes
// die, freeze and repeat records:
//
//  1. The consumer takes a partition over before it reads it: its fence keeps a former owner from publishing an older
//     snapshot after ours.
//  2. Decide folds the batch into the states. A story passes each offset once, so a repeated batch counts nothing.
//  3. It returns a snapshot of each story that the batch touched, also of one that had passed all its records: its
//     former owner may have died before it published.
//  4. When they are acknowledged, Outdated reads the states again. If another process has changed a story meanwhile,
//     its snapshot may stand before ours, which is older. So ours is published again, until none has changed.
//  5. Only then the consumer commits.
package projector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"echosieve/internal/stopping"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/stories"

	"golang.org/x/sync/errgroup"
)

// Projector is the handler of one output topic. All fields are set before its first call. Safe for concurrent use.
type Projector struct {
	Store   *Store
	Rules   *stories.Rules
	Decoder *decode.Decoder // with FindPublished
	// Root returns the record of a root. found is false if Kafka no longer has it.
	Root func(ctx context.Context, at article.Coordinates) (r record.Record, found bool, err error)
	// Roots are those that all projectors of a process have read.
	Roots *Roots
	// Topic tells the topic that is read from others, and from its predecessors of the same name.
	Topic func() uint32
	// Health learns what fails: "redis" or "kafka", the call, and the reason; nil when the call works again.
	Health  func(component string, call fmt.Stringer, err error)
	Metrics *Metrics
	// Labels says that the topic is that of labels.
	Labels bool
}

// rootsAtATime bounds the roots that are read from Kafka at a time.
const rootsAtATime = 8

// work is what a projector keeps of a batch.
type work struct {
	stories []*Entry       // that the batch touches; once decided, those that were published last
	results map[string]int // of its records
}

// Prepare implements consumer.Handler. It blocks while the server of schemas does not answer.
func (p *Projector) Prepare(ctx context.Context, records []record.Record) (*pipeline.Batch, error) {
	w, err := p.read(ctx, records)
	if err != nil {
		return nil, err
	}
	return &pipeline.Batch{Records: records, Work: w}, nil
}

// Decide implements consumer.Handler. It blocks while Redis does not answer.
func (p *Projector) Decide(ctx context.Context, b *pipeline.Batch) ([]pipeline.Output, error) {
	w := b.Work.(*work)
	for pending := w.stories; len(pending) > 0; {
		var err error
		if pending, err = p.apply(ctx, pending); err != nil {
			return nil, err
		}
	}
	for result, n := range w.results {
		p.Metrics.records.WithLabelValues(result).Add(float64(n))
	}
	var outputs []pipeline.Output
	outputs, w.stories = p.snapshots(w.stories)
	return outputs, nil
}

// Outdated implements consumer.Snapshots.
func (p *Projector) Outdated(ctx context.Context, b *pipeline.Batch) (outputs []pipeline.Output, err error) {
	w := b.Work.(*work)
	if len(w.stories) == 0 {
		return nil, nil
	}
	grown, err := p.readStates(ctx, w.stories)
	if err != nil || len(grown) == 0 {
		return nil, err
	}
	outputs, w.stories = p.snapshots(grown)
	return outputs, nil
}

// Refused implements consumer.Handler. A record of a story is below any limit but a mistaken one.
func (p *Projector) Refused(_ context.Context, _ *pipeline.Batch, out *pipeline.Output, why *record.RejectError) (
	pipeline.Output, error,
) {
	return pipeline.Output{}, fmt.Errorf("the topic of stories refuses the story of %s: %w", out.Record.Key, why)
}

// Acknowledged implements consumer.Handler.
func (p *Projector) Acknowledged(outputs []pipeline.Output, _ time.Duration) {
	p.Metrics.published.Add(float64(len(outputs)))
}

// apply reads the states of stories, adds the batch, and stores them. It returns those that somebody else has changed
// meanwhile.
func (p *Projector) apply(ctx context.Context, all []*Entry) (again []*Entry, err error) {
	for _, t := range all {
		t.Story = nil
	}
	if _, err := p.readStates(ctx, all); err != nil {
		return nil, err
	}
	var changed []*Entry
	roots, rootsCtx := errgroup.WithContext(ctx)
	roots.SetLimit(rootsAtATime)
	for _, t := range all {
		before := t.Version()
		for _, add := range t.added {
			add(t.Story)
		}
		if t.NeedsRoot() {
			if root, found := p.Roots.Get(t.Of.Coordinates); found {
				root.Ref = t.Of
				t.SetRoot(root)
			}
		}
		if t.NeedsRoot() {
			roots.Go(func() error { return p.findRoot(rootsCtx, t) })
		} else if t.Version() == before {
			continue
		}
		changed = append(changed, t)
	}
	if err := roots.Wait(); err != nil || len(changed) == 0 {
		return nil, err
	}
	err = p.patiently(ctx, "redis", "change", func() (err error) {
		again, err = p.Store.Swap(ctx, changed)
		return err
	})
	return again, err
}

// readStates reads the states of stories, and returns those that have changed.
func (p *Projector) readStates(ctx context.Context, all []*Entry) (changed []*Entry, err error) {
	err = p.patiently(ctx, "redis", "states", func() (err error) {
		changed, err = p.Store.Read(ctx, all)
		return err
	})
	return changed, err
}

// findRoot adds the facts of the root.
func (p *Projector) findRoot(ctx context.Context, t *Entry) error {
	return p.patiently(ctx, "kafka", "root "+t.Of.String(), func() error {
		r, found, err := p.Root(ctx, t.Of.Coordinates)
		if err != nil {
			return err
		}
		root := stories.Article{Ref: t.Of}
		if content, reject := p.Decoder.Decode(&r); found && reject == nil {
			root = p.Rules.Describe(t.Of, content, r.Time)
		}
		t.SetRoot(root)
		return nil
	})
}

// snapshots returns the outputs of stories with copies, and these stories.
func (p *Projector) snapshots(all []*Entry) (outputs []pipeline.Output, published []*Entry) {
	var value []byte
	outputs, published = make([]pipeline.Output, 0, len(all)), make([]*Entry, 0, len(all))
	now := time.Now()
	for _, t := range all {
		if t.Copies() == 0 {
			continue // only related articles so far
		}
		value, _ = decode.AppendJSON(value[:0], t.Record(now, p.Rules))
		outputs = append(outputs, pipeline.NewOutput(&record.Record{
			Coordinates: t.Of.Coordinates, Key: []byte(t.Of.String()), Value: bytes.Clone(value), Time: now,
		}, article.ToShadow))
		published = append(published, t)
	}
	return outputs, published
}

// call is a call that may fail, for Health.
type call string

func (c *call) String() string { return "stories: " + string(*c) }

// patiently tries until it works or ctx ends, or the edition of the stories has ended.
func (p *Projector) patiently(ctx context.Context, component, what string, try func() error) error {
	c, failed := call(what), false
	err := stopping.Until(ctx, 0, func(ctx context.Context) error {
		err := try()
		if errors.Is(err, ErrEdition) {
			return stopping.Final(err)
		}
		if err != nil && ctx.Err() == nil {
			failed = true
			p.Health(component, &c, err)
		}
		return err
	})
	if failed {
		p.Health(component, &c, nil)
	}
	return err
}
