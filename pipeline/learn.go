package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/record"
)

// Learnt is where the sentences are kept that publishers repeat. Safe for concurrent use.
//
// Await returns when no row can be learnt any more that would count for records with a timestamp up to at. So a record
// that is delivered again meets the same rows. It blocks while that is not known, and returns an error only when ctx
// ends.
//
// Count is that of learnt.Counter. Learn takes a sentence that a publisher repeats, without its begin, and tells whether
// it is left out of the articles that follow at once.
type Learnt interface {
	Await(ctx context.Context, at time.Time) error
	Count(publisher string, at time.Time, sentences []uint64, learn func(publisher string, hash uint64))
	Learn(row learnt.Row) (atOnce bool)
}

// await waits until the rows are known that count for all records of a batch.
func (p *Pipeline) await(ctx context.Context, recs []record.Record) error {
	if p.cfg.Learnt == nil || len(recs) == 0 {
		return nil
	}
	latest := slices.MaxFunc(recs, func(a, b record.Record) int { return a.Time.Compare(b.Time) })
	return p.cfg.Learnt.Await(ctx, latest.Time)
}

// learn counts the sentences of the articles in their order. An article with a sentence that was learnt from an
// earlier one of the batch is fingerprinted again, without it.
func (p *Pipeline) learn(ctx context.Context, b *Batch) error {
	if p.cfg.Learnt == nil {
		return nil
	}
	p.cores <- struct{}{} // what decodes holds a core: see yielding
	defer func() { <-p.cores }()
	fresh := map[uint64]bool{}
	for i := range b.prepared {
		one, r := &b.prepared[i], &b.Records[i]
		if len(fresh) > 0 && slices.ContainsFunc(one.article.Sentences, func(h uint64) bool { return fresh[h] }) {
			var err error
			if *one, err = p.prepare(ctx, r); err != nil {
				return err
			}
		}
		var repeated []learnt.Row
		p.cfg.Learnt.Count(one.house, r.Time, one.article.Sentences, func(publisher string, hash uint64) {
			repeated = append(repeated, learnt.Row{Publisher: publisher, Hash: hash, Articles: learnt.Least,
				Example: r.Coordinates, End: r.Time.Add(learnt.Life)})
		})
		// The record is decoded again outside of Count, which holds a lock: a schema may be waited for.
		for _, row := range repeated {
			if err := p.decoder.With(ctx, r, func(content article.Content, reject *record.RejectError) {
				if reject == nil {
					row.Sentence = article.Cut(p.recipe.Sentence(content.Text, row.Hash), learnt.MaxSentence)
				}
			}); err != nil {
				return fmt.Errorf("learn: %w", err)
			}
			if p.cfg.Learnt.Learn(row) {
				fresh[row.Hash] = true
			}
		}
		one.article.Sentences = nil // the index does not keep them
	}
	return nil
}
