package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"echosieve/app/config"
	"echosieve/app/told"
	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
)

// explanation is the result of the command. Its JSON names must not change.
type explanation struct {
	// coordinates of the published record; empty: none was found
	Output string `json:"output,omitempty"`
	Recipe string `json:"recipe,omitempty"` // with which the verdict was reached
	// unique, possible, near, exact or dead; empty: none was found
	Verdict    string           `json:"verdict"`
	Reason     string           `json:"reason,omitempty"`
	Detail     string           `json:"detail,omitempty"` // of a dead letter
	Distance   int              `json:"distance"`         // bits
	Relation   *told.Relation   `json:"relation,omitempty"`
	Article    described        `json:"article"`
	Chain      []described      `json:"chain"` // the original, its original, and so on to the root
	Comparison *told.Comparison `json:"comparison,omitempty"`
	Candidates []candidate      `json:"candidates"` // of a unique article: the nearest that the index has now
	Notes      []string         `json:"notes"`
}

// explainer explains verdicts by what Kafka and the index have.
type explainer struct {
	cfg    config.Config
	recipe *recipe.Recipe
	judge  *told.Judge
	reader *told.Reader
	index  *redisindex.Index // nil: not in reach
}

// record explains the record with the coordinates, which may be of an output topic or of an input topic.
func (e *explainer) record(ctx context.Context, at article.Coordinates) (*explanation, error) {
	r, err := e.reader.Record(ctx, at)
	gone := errors.Is(err, tools.ErrNoRecord)
	if err != nil && !gone {
		return nil, err
	}
	if !slices.Contains(e.cfg.Kafka.Topics.Inputs, at.Topic) && !gone {
		o, err := told.Parse(r)
		switch {
		case err == nil:
			return e.output(ctx, o)
		case !errors.Is(err, pipeline.ErrNoOutput):
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	if gone && slices.Contains(e.reader.Topics(), at.Topic) {
		return nil, err
	}
	// An input record. Without the record its time is unknown, and whole partitions are searched.
	o, verdictErr := e.reader.Verdict(ctx, at, r.Time)
	switch {
	case verdictErr == nil:
		return e.output(ctx, o)
	case !errors.Is(verdictErr, told.ErrNoVerdict):
		return nil, verdictErr
	case gone:
		return nil, fmt.Errorf("%w; %w", err, verdictErr)
	}
	x := &explanation{Notes: []string{verdictErr.Error()}, Article: e.describe(r), Chain: []described{},
		Candidates: []candidate{}}
	x.Notes = append(x.Notes, e.openTransactions(ctx, at)...)
	e.addStored(ctx, x, &x.Article)
	return e.addCandidates(ctx, x), nil
}

// output explains an output. If it is in another topic than the configured ones, such as that of a shadow,
// the verdicts about earlier articles are searched there.
func (e *explainer) output(ctx context.Context, o *told.Output) (*explanation, error) {
	if !slices.Contains(e.reader.Topics(), o.Record.Topic) {
		e.reader.SearchIn(o.Record.Topic)
	}
	x := &explanation{Output: o.Record.String(), Recipe: o.Recipe, Verdict: o.Verdict.Kind.String(),
		Distance: o.Verdict.Distance, Chain: []described{}, Candidates: []candidate{}, Notes: []string{}}
	r := o.Record
	// left out of the output: a shadow, or a large dead letter
	if r.Value == nil && (o.Reject != nil || o.Verdict.Root != article.Ref{}) {
		var err error
		if r, err = e.reader.Record(ctx, o.Input); err != nil && !errors.Is(err, tools.ErrNoRecord) {
			return nil, err
		}
	}
	r.Coordinates = o.Input
	x.Article = e.describe(r)
	if o.Reject != nil {
		x.Verdict, x.Reason, x.Detail = "dead", string(o.Reject.Reason), o.Reject.Detail
		if x.Article.made != nil && !x.Article.made.Empty { // it would be an article with these settings
			e.addOwner(ctx, x, o)
		}
		return x, nil
	}
	if o.Verdict.Root == (article.Ref{}) {
		x.Notes = append(x.Notes, "the value is null: there is no text to compare")
		return x, nil
	}
	if o.Recipe != e.recipe.ID() {
		x.Notes = append(x.Notes, fmt.Sprintf("the verdict was reached with the recipe %s; the figures are those of "+
			"the configured recipe %s", o.Recipe, e.recipe.ID()))
	}
	e.addStored(ctx, x, &x.Article)
	if s := x.Article.stored; s != nil && s.Verdict.Kind != 0 &&
		(s.Verdict.Kind != o.Verdict.Kind || s.Verdict.Root != o.Verdict.Root) {
		e.addOwner(ctx, x, o) // the index has another verdict
	}
	if o.Verdict.Kind == article.Unique {
		return e.addCandidates(ctx, x), nil
	}
	x.Reason = o.Verdict.Reason.String()
	x.Relation = told.NewRelation(o.Verdict.Likeness)
	e.addChain(ctx, x, o.Verdict)
	x.compareWith(e, &x.Chain[0])
	if c := x.Comparison; c != nil && o.Recipe == e.recipe.ID() && c.Distance != x.Distance &&
		o.Verdict.Kind != article.Exact {
		x.Notes = append(x.Notes,
			fmt.Sprintf("the fingerprints differ in %d bits now, the header says %d: was the topic of the "+
				"original recreated, or a value changed?", c.Distance, x.Distance))
	}
	return x, nil
}

// addOwner adds that an earlier owner of the input partition has published the output. That explains why it
// is not what this service would publish; after a restart it is so for every earlier output. Without the
// right to see the group, and to the outputs of another group, it adds nothing.
func (e *explainer) addOwner(ctx context.Context, x *explanation, o *told.Output) {
	if !slices.Contains(e.cfg.Kafka.Topics.All()[1:], o.Record.Topic) {
		return
	}
	archive, err := e.reader.Archive(o.Record.Topic)
	if err != nil {
		return
	}
	if earlier, err := archive.EarlierOwner(ctx, e.cfg.Kafka.Group, o.Input, o.Record.Coordinates); err == nil &&
		earlier {
		x.Notes = append(x.Notes,
			"an earlier owner of the input partition has published the record; later owners do not publish it "+
				"again, whatever they decide")
	}
}

// openTransactions says in which output partitions of an input record a transaction is open: records from
// there on cannot be read yet, and a verdict may be among them.
func (e *explainer) openTransactions(ctx context.Context, input article.Coordinates) (notes []string) {
	for _, topic := range e.reader.Topics() {
		archive, err := e.reader.Archive(topic)
		if err != nil {
			continue
		}
		n, err := archive.Partitions(ctx, topic)
		if err != nil || n == 0 {
			continue
		}
		p := input.Partition % int32(n)
		if from, open, err := archive.OpenTransaction(ctx, topic, p); err == nil && open {
			notes = append(notes,
				fmt.Sprintf("in %s/%d a transaction is open from offset %d on: what stands there cannot be read "+
					"before it ends, and the verdict may be there; "+
					"if it stays, kafka-transactions.sh find-hanging names its producer, and abort ends it", topic, p,
					from))
		}
	}
	return notes
}

// candidatesOf returns the stored articles that the look-ups for an article find now.
func (e *explainer) candidatesOf(ctx context.Context, x *explanation, d *described) []redisindex.Candidate {
	if e.index == nil || d.made == nil {
		return nil
	}
	found, err := e.index.Candidates(ctx, d.made)
	if err != nil {
		e.loseIndex(x, err)
	}
	return found
}

// mostLinks bounds a chain. Chains of originals are a few articles long.
const mostLinks = 20

// addChain follows the originals from a verdict to the root.
func (e *explainer) addChain(ctx context.Context, x *explanation, v article.Verdict) {
	known := e.candidatesOf(ctx, x, &x.Article)
	for range mostLinks {
		link := e.fetch(ctx, x, v.Original, known)
		next := e.verdictOf(ctx, &link, v.Original.Coordinates)
		if next.Kind != 0 {
			link.Verdict = next.Kind.String()
		}
		x.Chain = append(x.Chain, link)
		if !v.Kind.IsCopy() || v.Original.Coordinates == v.Root.Coordinates {
			return
		}
		if !next.Kind.IsCopy() { // the chain is broken, but the root is known
			x.Notes = append(x.Notes, "what stands between "+v.Original.String()+
				" and the root is not known: neither the output topics nor the index have its verdict")
			x.Chain = append(x.Chain, e.fetch(ctx, x, v.Root, known))
			return
		}
		if link.made != nil {
			known = append(known, e.candidatesOf(ctx, x, &link)...)
		}
		v = next
	}
}

// verdictOf returns the verdict about an earlier article: from the output topics or else from the index. Its
// kind is 0 if neither has it.
func (e *explainer) verdictOf(ctx context.Context, d *described, at article.Coordinates) article.Verdict {
	if !d.Time.IsZero() {
		if o, err := e.reader.Verdict(ctx, at, d.Time); err == nil {
			return o.Verdict
		}
	}
	if d.stored != nil {
		return d.stored.Verdict
	}
	return article.Verdict{}
}

// compareWith compares the article with an earlier one: by their texts, or else by what the index has.
func (x *explanation) compareWith(e *explainer, earlier *described) {
	later := &x.Article
	if earlier.made == nil || later.made == nil {
		return
	}
	c := e.compare(earlier, later)
	x.Comparison = &c
	if earlier.Text != "" && later.Text != "" {
		c.AddTexts(earlier.Text, later.Text)
	}
}

// compare compares two articles of which a look-up for the later one has found the earlier one: the verdict
// names it, or it is a candidate. If a text is lost, so are the anchors that may have found it.
func (e *explainer) compare(earlier, later *described) told.Comparison {
	return e.judge.Compare([2]string{earlier.Record, later.Record}, earlier.made, later.made,
		earlier.Text == "" || later.Text == "")
}
