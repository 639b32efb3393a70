package projector

import (
	"context"
	"fmt"
	"slices"
	"time"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/changes"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/stories"

	"golang.org/x/sync/errgroup"
)

// Version is the record of an article that may bring news: what is new in it, compared with its original. Its JSON
// names never change.
type Version struct {
	Root     Ref              `json:"root"`
	Original Ref              `json:"original"`
	Article  stories.Root     `json:"article"`
	Verdict  string           `json:"verdict"`
	Relation string           `json:"relation"`
	Changes  *changes.Changes `json:"changes,omitempty"`
	Why      string           `json:"why,omitempty"` // there are no changes
}

// Ref names an article.
type Ref struct {
	ID          string `json:"id"`
	Coordinates string `json:"coordinates"`
}

// Versions is the handler of one output topic that publishes a Version for each copy that extends or revises its
// original, or overlaps with it, and for each possible copy of the same publisher. It keeps no state: the consumer
// publishes the one output of a record once.
type Versions struct {
	Projector *Projector // its Rules, Decoder, Root and Health are used
}

// Prepare implements consumer.Handler. It blocks while Kafka does not answer.
func (v *Versions) Prepare(ctx context.Context, records []record.Record) (*pipeline.Batch, error) {
	outputs := make([]pipeline.Output, len(records))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(rootsAtATime)
	for i := range records {
		group.Go(func() (err error) {
			outputs[i], err = v.output(ctx, &records[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	outputs = slices.DeleteFunc(outputs, func(o pipeline.Output) bool { return o.Record == nil })
	return &pipeline.Batch{Records: records, Work: outputs}, nil
}

// Decide implements consumer.Handler.
func (v *Versions) Decide(_ context.Context, b *pipeline.Batch) ([]pipeline.Output, error) {
	outputs, _ := b.Work.([]pipeline.Output) // nil if there is none
	return outputs, nil
}

// Refused implements consumer.Handler. A record is below any limit but a mistaken one.
func (v *Versions) Refused(_ context.Context, _ *pipeline.Batch, out *pipeline.Output, why *record.RejectError) (
	pipeline.Output, error,
) {
	return pipeline.Output{}, fmt.Errorf("the topic of changes refuses that of %s: %w", out.Record, why)
}

// Acknowledged implements consumer.Handler.
func (v *Versions) Acknowledged([]pipeline.Output, time.Duration) {}

// mostTitle bounds titles and addresses, in bytes: a title may hold a whole text.
const mostTitle = 2000

// output returns what a record of the output topic is followed by; without a Record: nothing.
func (v *Versions) output(ctx context.Context, r *record.Record) (out pipeline.Output, err error) {
	says, bad := pipeline.ParseHeaders(r.Headers)
	verdict := &says.Verdict
	if bad != nil || says.Reject != nil || !mayBeVersion(verdict) {
		return out, nil //nolint:nilerr // a record of somebody else, or one without news
	}
	input := *r
	input.Coordinates = says.Input
	own, found, err := v.content(ctx, &input)
	if err != nil {
		return out, err
	}
	a := v.Projector.Rules.Describe(article.Ref{ID: own.ID, Coordinates: says.Input}, own, r.Time)
	root, _ := stories.RootOf(verdict)
	version := &Version{Root: refOf(root), Original: refOf(verdict.Original), Verdict: verdict.Kind.String(),
		Relation: verdict.Relation.String(), Article: stories.Root{ID: a.ID, Coordinates: a.String(), Publisher: a.Publisher,
			Title: article.Cut(a.Title, mostTitle), URL: article.Cut(a.URL, mostTitle), Time: &a.Time}}
	before, kept, err := v.original(ctx, verdict.Original)
	switch {
	case err != nil:
		return out, err
	case verdict.Kind == article.Possible && (own.Publisher+own.URL == "" || article.PublisherOf(own.Publisher, own.URL) !=
		article.PublisherOf(before.Publisher, before.URL)):
		return out, nil // another publisher's article, as far as anybody knows
	case !kept:
		version.Why = changes.OriginalGone
	case !found:
		version.Why = changes.ArticleGone
	default:
		version.Changes = changes.Between(changes.Version{Title: before.Title, Text: before.Text},
			changes.Version{Title: own.Title, Text: own.Text})
	}
	value, err := decode.AppendJSON(nil, version)
	out = pipeline.NewOutput(&record.Record{Coordinates: r.Coordinates, Key: []byte(root.String()), Value: value,
		Time: time.Now()}, article.ToShadow)
	out.Headers = []record.Header{{Key: pipeline.HeaderInput, Value: []byte(r.String())}}
	return out, err
}

// mayBeVersion tells whether an article with a verdict may bring news.
func mayBeVersion(v *article.Verdict) bool {
	switch v.Relation {
	case article.Extends, article.Revises, article.Overlaps:
		return v.HasOriginal()
	default:
		return v.Kind == article.Possible
	}
}

func refOf(r article.Ref) Ref { return Ref{ID: r.ID, Coordinates: r.String()} }

// content returns the article of a record; found is false if its value holds none.
func (v *Versions) content(ctx context.Context, r *record.Record) (c article.Content, found bool, err error) {
	err = v.Projector.patiently(ctx, registry, "schema of "+r.String(), func() error {
		return v.Projector.Decoder.With(ctx, r, func(content article.Content, reject *record.RejectError) {
			c, found = content, reject == nil
		})
	})
	return c, found, err
}

// original reads an original from Kafka; kept is false if its text is gone.
func (v *Versions) original(ctx context.Context, ref article.Ref) (c article.Content, kept bool, err error) {
	var r record.Record
	err = v.Projector.patiently(ctx, "kafka", "original "+ref.String(), func() (err error) {
		r, kept, err = v.Projector.Root(ctx, ref.Coordinates)
		return err
	})
	if err != nil || !kept {
		return c, false, err
	}
	return v.content(ctx, &r)
}
