package refill

import (
	"context"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/redisindex/admin"
)

// restore stores the articles of records of output topics with the verdicts that were published.
func (r *run) restore(ctx context.Context, records []record.Record) error {
	var inputs []record.Record
	var verdicts []article.Verdict // for each of inputs
	for i := range records {
		input, verdict, leftOut := r.take(&records[i])
		if leftOut != nil {
			r.summary.count(leftOut, 1)
			continue
		}
		inputs, verdicts = append(inputs, input), append(verdicts, verdict)
	}
	prepared, err := r.pipeline.Prepare(ctx, inputs)
	if err != nil {
		return err
	}
	var published []admin.Published
	var refs []article.Ref // of each article, and of its root
	for i, v := range verdicts {
		a, _ := prepared.Article(i)
		if a == nil {
			r.summary.count(&r.summary.NoText, 1)
			continue
		}
		published = append(published, admin.Published{Article: *a, Verdict: v})
		refs = append(refs, a.Ref(), v.Root)
	}
	forgotten, err := r.Tools.AreForgotten(ctx, refs)
	if err != nil {
		return err
	}
	for i := range published {
		published[i].Forgotten = forgotten[2*i] || forgotten[2*i+1]
	}
	outcomes, err := r.restorer.Restore(ctx, published)
	for _, o := range outcomes {
		r.summary.count(r.summary.outcome(o), 1)
	}
	return err
}

// take returns the input record and the verdict of an output. If the output is left out, take returns the counter of
// the reason.
func (r *run) take(rec *record.Record) (input record.Record, verdict article.Verdict, leftOut *int64) {
	s := &r.summary
	p, err := pipeline.ParseHeaders(rec.Headers)
	switch {
	case err != nil, p.Reject != nil, r.committed[p.Input.Topic] == nil:
		return input, verdict, &s.NotPublished
	case rec.Value == nil:
		return input, verdict, &s.NoText
	case p.Recipe != r.Recipe.ID():
		if !rec.Time.Before(r.began.Add(-r.Config.Window)) {
			r.leftOut.Store(true)
		}
		return input, verdict, &s.OtherRecipe
	case !r.below(p.Input), p.Verdict.Kind != article.Unique && !r.below(p.Verdict.Original.Coordinates),
		!r.below(p.Verdict.Root.Coordinates):
		return input, verdict, &s.Uncommitted
	}
	if p.Verdict.Kind.IsCopy() {
		p.Verdict.Destination = r.destination(rec.Topic)
	}
	return p.Restored(rec), p.Verdict, nil
}

// below says whether the record at these coordinates is below the offsets that were committed in its topic.
func (r *run) below(at article.Coordinates) bool { return at.Offset < r.committedIn(at) }

// destination returns the destination that the policy chose for a copy that was published to a topic.
func (r *run) destination(topic string) article.Destination {
	switch topics := r.Config.Kafka.Topics; topic {
	case topics.Unique:
		return article.ToUnique
	case topics.Possible:
		return article.ToPossible
	default:
		return article.ToDuplicate
	}
}
