package index

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/redisindex/admin"
)

const (
	batchRecords = 256
	batchBytes   = 4 << 20
	// workers is the number of parts at which a process works at a time. Texts are processed on all cores
	// anyway; more workers only bridge the waits for Kafka and Redis.
	workers = 3
	// pollInterval is the pause before a process asks again for parts that other processes have.
	pollInterval = time.Second
)

// part is a piece of the work: a partition of a topic that is read.
type part struct {
	topic     string
	partition int32
	from, to  int64 // offsets
}

func (p part) name() string { return fmt.Sprintf("%s/%d", p.topic, p.partition) }

// refiller is the work of one process at a refill.
type refiller struct {
	index     *opened
	archive   *tools.Archive
	from      string // fromOutputs or fromInput
	began     time.Time
	oldest    time.Time          // records from before are left out
	committed map[string][]int64 // by topic and partition
	parts     []part
	shared    *admin.Refill
	restorer  *admin.Restorer // nil with fromInput
	pipeline  *pipeline.Pipeline
	progress  *progress
	marks     bool     // articles were forgotten, see Tools.MarkForgotten
	forgotten sync.Map // with fromInput: forgotten articles that were decided again, by article.Coordinates
	cut       []string // topics whose records of the window may be deleted in part
	summary   summary
}

// pipeline returns the stages of the service, without metrics.
func (o *opened) pipeline() (*pipeline.Pipeline, error) {
	return pipeline.New(pipeline.Config{Decode: o.cfg.Input.Config, RecordConfig: o.cfg.Input.Records,
		MaxMessageBytes: o.cfg.Kafka.MaxMessageBytes, Window: o.cfg.Window}, o.recipe, o.Index, nil)
}

// findParts lists what is to be read. Unique articles come first: with them in the index, most later copies
// are caught again.
func (r *refiller) findParts(ctx context.Context) ([]part, error) {
	topics := r.index.cfg.Kafka.Topics
	names := []string{topics.Unique}
	for _, topic := range []string{topics.Possible, topics.Duplicate} {
		if topic != "" && topic != topics.Unique {
			names = append(names, topic)
		}
	}
	if r.from == fromInput {
		names = topics.Inputs
	}
	var parts []part
	for _, topic := range names {
		n, err := r.archive.Partitions(ctx, topic)
		if err != nil {
			return nil, err
		}
		for i := range int32(n) {
			p := part{topic: topic, partition: i}
			if p.from, err = r.archive.OffsetAt(ctx, topic, i, r.oldest); err != nil {
				return nil, err
			}
			held, err := r.archive.Offsets(ctx, topic, i)
			if err != nil {
				return nil, err
			}
			if p.to = held.Next; r.from == fromInput {
				p.to = committedIn(r.committed, topic, i)
			}
			// Brokers delete from the start. If the first record that is left is of the window, some before
			// it may have been, too.
			if p.from == held.First && held.First > 0 && !slices.Contains(r.cut, topic) {
				r.cut = append(r.cut, topic)
			}
			if p.from >= 0 && p.from < p.to {
				parts = append(parts, p)
				r.progress.total.Add(p.to - p.from)
			}
		}
	}
	return parts, nil
}

// work works at the parts until all are done, by this process or by others.
func (r *refiller) work(ctx context.Context) error {
	open := make(chan part, len(r.parts))
	for _, p := range r.parts {
		open <- p
	}
	left := make(chan struct{}, len(r.parts)) // one for each part that is done
	group, ctx := errgroup.WithContext(ctx)
	for range workers {
		group.Go(func() error {
			for {
				select {
				case p := <-open:
					done, err := r.workAt(ctx, p)
					if err != nil {
						return err
					}
					if !done {
						open <- p // its place in the channel is free
						if err := pause(ctx, pollInterval); err != nil {
							return err
						}
						continue
					}
					left <- struct{}{}
				default:
					if len(left) == len(r.parts) {
						return nil
					}
					if err := pause(ctx, pollInterval/10); err != nil {
						return err
					}
				}
			}
		})
	}
	return group.Wait()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// workAt works at a part. It is not done if another process has it.
func (r *refiller) workAt(ctx context.Context, p part) (done bool, err error) {
	known, ok, err := r.shared.Take(ctx, p.name(), p.from)
	if err != nil || !ok && known.To < p.to {
		return false, err
	}
	r.progress.done.Add(min(known.To, p.to) - p.from) // earlier, or by another process
	if known.To >= p.to {
		return true, nil
	}
	b := &batch{r: r, part: p, begun: known.From}
	err = r.archive.Read(ctx, article.Coordinates{Topic: p.topic, Partition: p.partition, Offset: known.To}, p.to,
		func(rec *record.Record) error {
			return b.add(ctx, rec)
		})
	if err == nil {
		err = b.flush(ctx, p.to)
	}
	if err != nil {
		return false, err
	}
	return true, r.shared.Release(ctx, p.name())
}

// batch is consecutive records of a part.
type batch struct {
	r         *refiller
	part      part
	begun     int64 // the part is done from here on
	gap       bool  // a record of the window was left out that belongs into the index
	records   []record.Record
	published []article.Verdict // for each record; empty with --from input
	bytes     int
	read      int64 // records that are in no count of progress yet
}

// add takes a record, and works off the batch when it is full.
func (b *batch) add(ctx context.Context, rec *record.Record) error {
	b.read++
	if counter := b.take(rec); counter != nil {
		b.r.summary.count(counter)
	}
	if len(b.records) < batchRecords && b.bytes < batchBytes && b.read < 8*batchRecords {
		return nil
	}
	return b.flush(ctx, rec.Offset+1)
}

// take puts a record into the batch. If the record is left out, take returns the counter of the reason.
func (b *batch) take(rec *record.Record) (leftOut *int64) {
	r, s := b.r, &b.r.summary
	if rec.Time.Before(r.oldest) {
		return &s.Old
	}
	if r.from == fromInput {
		b.records = append(b.records, *rec)
		b.bytes += rec.Size()
		return nil
	}
	p, err := pipeline.ParseHeaders(rec.Headers)
	switch {
	case err != nil, p.Reject != nil, r.committed[p.Input.Topic] == nil:
		return &s.NotPublished
	case rec.Value == nil:
		return &s.NoText
	case p.Recipe != r.index.recipe.ID():
		b.gap = b.gap || !rec.Time.Before(r.began.Add(-r.index.cfg.Window))
		return &s.OtherRecipe
	case !below(p.Input, r.committed),
		p.Verdict.Kind != article.Unique && !below(p.Verdict.Original.Coordinates, r.committed),
		!below(p.Verdict.Root.Coordinates, r.committed):
		return &s.Uncommitted
	}
	if p.Verdict.Kind.IsCopy() {
		p.Verdict.Destination = r.destination(b.part.topic)
	}
	b.records = append(b.records, p.Restored(rec))
	b.published = append(b.published, p.Verdict)
	b.bytes += rec.Size()
	return nil
}

// destination returns the destination that the policy chose for a copy that was published to a topic.
func (r *refiller) destination(topic string) article.Destination {
	switch topics := r.index.cfg.Kafka.Topics; topic {
	case topics.Unique:
		return article.ToUnique
	case topics.Possible:
		return article.ToPossible
	default:
		return article.ToDuplicate
	}
}

// flush works off the batch, and notes that the part is done up to an offset.
func (b *batch) flush(ctx context.Context, upTo int64) error {
	prepared, err := b.r.pipeline.Prepare(ctx, b.records)
	switch {
	case err != nil:
	case b.r.from == fromInput:
		err = b.decide(ctx, prepared)
	default:
		err = b.restore(ctx, prepared)
	}
	if err == nil && b.gap {
		err = b.r.shared.LeaveOut(ctx)
	}
	if err == nil {
		err = b.r.shared.Done(ctx, b.part.name(), admin.Range{From: b.begun, To: upTo})
	}
	b.r.progress.done.Add(b.read)
	b.records, b.published, b.bytes, b.read = nil, nil, 0, 0
	return err
}

func (b *batch) restore(ctx context.Context, prepared *pipeline.Batch) error {
	var articles []article.Article
	var verdicts []article.Verdict
	var refs []article.Ref // of each article, and of its root
	for i, v := range b.published {
		a, _ := prepared.Article(i)
		if a == nil {
			b.r.summary.count(&b.r.summary.NoText)
			continue
		}
		articles, verdicts = append(articles, *a), append(verdicts, v)
		refs = append(refs, a.Ref(), v.Root)
	}
	forgotten, err := b.r.areForgotten(ctx, refs)
	if err != nil {
		return err
	}
	var hide []article.Article
	var hideVerdicts []article.Verdict
	kept := 0
	for i := range articles {
		if forgotten[2*i] || forgotten[2*i+1] {
			hide, hideVerdicts = append(hide, articles[i]), append(hideVerdicts, verdicts[i])
			continue
		}
		articles[kept], verdicts[kept] = articles[i], verdicts[i]
		kept++
	}
	outcomes, err := b.r.restorer.Restore(ctx, articles[:kept], verdicts[:kept])
	for _, o := range outcomes {
		b.r.summary.count(b.r.summary.outcome(o))
	}
	if err != nil {
		return err
	}
	outcomes, err = b.r.restorer.RestoreHidden(ctx, hide, hideVerdicts)
	for range outcomes {
		b.r.summary.count(&b.r.summary.Forgotten)
	}
	return err
}

// areForgotten says which of the articles were forgotten.
func (r *refiller) areForgotten(ctx context.Context, refs []article.Ref) ([]bool, error) {
	if !r.marks {
		return make([]bool, len(refs)), nil
	}
	return r.index.AreForgotten(ctx, refs)
}

// forgetAgain forgets the forgotten articles that were decided again, and those that became their copies. It
// needs the rights of index forget.
func (r *refiller) forgetAgain(ctx context.Context) error {
	again := map[article.Coordinates]bool{}
	r.forgotten.Range(func(at, _ any) bool {
		again[at.(article.Coordinates)] = true
		return true
	})
	if len(again) == 0 {
		return nil
	}
	f, err := forget(ctx, r.progress.out, r.index, func(ref article.Ref) bool { return again[ref.Coordinates] })
	if err != nil {
		return fmt.Errorf("forget %d forgotten articles again: %w", len(again), err)
	}
	r.summary.Forgotten += int64(len(f.hidden))
	return nil
}

// decide reaches new verdicts. What would be published is dropped.
func (b *batch) decide(ctx context.Context, prepared *pipeline.Batch) error {
	var refs []article.Ref
	for i := range b.records {
		if a, _ := prepared.Article(i); a == nil {
			b.r.summary.count(&b.r.summary.NoText)
		} else {
			b.r.summary.count(&b.r.summary.Decided)
			refs = append(refs, a.Ref())
		}
	}
	forgotten, err := b.r.areForgotten(ctx, refs)
	if err != nil {
		return err
	}
	for i, ref := range refs {
		if forgotten[i] {
			b.r.forgotten.Store(ref.Coordinates, true)
		}
	}
	_, err = b.r.pipeline.Decide(ctx, prepared)
	return err
}
