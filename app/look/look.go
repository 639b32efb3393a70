// Package look answers what an article would be if it came now: the verdict that it would get, and the stored
// articles that resemble it. It reads only. The answer is advice: between a look and the record the index may
// change, and two articles that are looked up at the same time do not see each other. Only a record of the
// input topic gets a verdict that lasts.
package look

import (
	"context"
	"time"

	"echosieve/app/config"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/redisindex"
)

// Most is the number of articles of one look.
const Most = 100

// mostNearest bounds the stored articles of an answer.
const mostNearest = 10

// note stands in every answer.
const note = "This is advice: nothing was stored, and the article may get another verdict when it comes."

// Answer is the answer to a look. Its JSON names must not change.
type Answer struct {
	Note     string    `json:"note"`
	Recipe   string    `json:"recipe"`
	Articles []Article `json:"articles"` // in the order of the request
}

// Article says what one article would be.
type Article struct {
	ID      string `json:"id,omitempty"`
	Verdict string `json:"verdict"` // unique, possible, near, exact or dead
	// the test that decides, or why the record would be a dead letter
	Reason      string    `json:"reason,omitempty"`
	Detail      string    `json:"detail,omitempty"`      // of a dead letter
	Destination string    `json:"destination"`           // unique, possible, duplicate or dead: which topic
	Distance    int       `json:"distance"`              // from the original, in bits
	Relation    *Relation `json:"relation,omitempty"`    // to the original
	Original    *Ref      `json:"original,omitempty"`    // of a copy or possible copy
	Root        *Ref      `json:"root,omitempty"`        // of a copy; absent while the original has no verdict
	Fingerprint string    `json:"fingerprint,omitempty"` // absent for little text
	Nearest     []Nearest `json:"nearest"`               // the nearest first
}

// Ref names a stored article.
type Ref struct {
	Record string `json:"record"` // coordinates of the input
	ID     string `json:"id"`
}

// Relation is what the article is to a stored one.
type Relation struct {
	Name       string  `json:"name"`
	Similarity float64 `json:"similarity"`
	Contained  float64 `json:"contained"`
	Contains   float64 `json:"contains"`
}

// Nearest is a stored article that the look-ups find, and what the article would be to it alone.
type Nearest struct {
	Ref
	Time     time.Time `json:"time"`
	Distance int       `json:"distance"` // bits
	Judged   string    `json:"judged"`   // exact, near, possible or different
	Reason   string    `json:"reason"`
	Relation *Relation `json:"relation,omitempty"`
	Hidden   bool      `json:"hidden,omitempty"` // the index hides it: no article is a copy of it
	Figures  []Figure  `json:"figures,omitempty"`
}

// Figure is a measure by which the rule decides, beside its limit.
type Figure struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Limit   string `json:"limit"`
	Setting string `json:"setting,omitempty"`
}

// Looker looks articles up. Safe for concurrent use.
type Looker struct {
	input   decode.Config
	largest int // bytes of a record
	recipe  *recipe.Recipe
	rule    evidence.Rule
	index   *redisindex.Index
}

// New returns a Looker of an index with its recipe.
func New(cfg config.Config, made *recipe.Recipe, index *redisindex.Index) *Looker {
	return &Looker{
		input: cfg.Input.AsJSON(), largest: cfg.Kafka.MaxMessageBytes, recipe: made,
		rule: evidence.NewRule(cfg.Detection.Thresholds), index: index,
	}
}

// Look answers for articles, at most Most of them, each as a value of the input topic. What is wrong with an
// article is in the answer; an error says that the index cannot be read.
func (l *Looker) Look(ctx context.Context, values [][]byte) (Answer, error) {
	answer := Answer{Note: note, Recipe: l.recipe.ID(), Articles: make([]Article, 0, len(values))}
	for _, value := range values {
		one, err := l.one(ctx, value, time.Now())
		if err != nil {
			return Answer{}, err
		}
		answer.Articles = append(answer.Articles, one)
	}
	return answer, nil
}

// one looks one article up.
func (l *Looker) one(ctx context.Context, value []byte, now time.Time) (Article, error) {
	r := record.Record{Value: value, Time: now}
	if len(r.Value) > l.largest {
		return dead("", record.Reject(record.TooLarge,
			"%d bytes, kafka.max_message_bytes is %d", len(r.Value), l.largest)), nil
	}
	var content article.Content
	var reject *record.RejectError
	var a article.Article
	if err := l.input.With(ctx, &r, func(found article.Content, why *record.RejectError) {
		if content, reject = found, why; reject == nil {
			a, _ = l.recipe.Fingerprint(content.Text, article.Origin{Publisher: content.Publisher, Time: now})
		}
	}); err != nil {
		return Article{}, err
	}
	if content.ID == r.String() { // the coordinates, which the record will have
		content.ID = ""
	}
	if reject.IsDeletion() {
		return Article{ID: content.ID, Verdict: article.Unique.String(), Destination: article.ToUnique.String(),
			Reason: "tombstone", Detail: reject.Detail, Nearest: []Nearest{}}, nil
	}
	if reject != nil {
		return dead(content.ID, reject), nil //nolint:nilerr // the reject is the answer
	}
	if a.Empty {
		return dead(content.ID, record.Reject(record.EmptyText, "no letter or digit is left after cleaning")), nil
	}
	a.ID, a.Time = content.ID, now
	advice, err := l.index.Advise(ctx, &a)
	if err != nil {
		return Article{}, err
	}
	return l.describe(&a, &advice), nil
}

func dead(id string, reject *record.RejectError) Article {
	return Article{
		ID: id, Verdict: article.ToDead.String(), Destination: article.ToDead.String(), Reason: string(reject.Reason),
		Detail: reject.Detail, Nearest: []Nearest{},
	}
}

func (l *Looker) describe(a *article.Article, advice *redisindex.Advice) Article {
	v := &advice.Verdict
	out := Article{ID: a.ID, Verdict: v.Kind.String(), Destination: v.Destination.String(), Distance: v.Distance,
		Relation: newRelation(v.Likeness), Nearest: []Nearest{}}
	if !a.LittleText {
		out.Fingerprint = a.Fingerprint.String()
	}
	if v.Kind != article.Unique {
		out.Reason, out.Original = v.Reason.String(), newRef(v.Original)
	}
	if v.Kind.IsCopy() && v.Root != (article.Ref{}) {
		out.Root = newRef(v.Root)
	}
	own, _ := evidence.Decode(a.Signature)
	for _, c := range advice.Candidates[:min(len(advice.Candidates), mostNearest)] {
		n := Nearest{
			Ref: *newRef(c.Ref()), Time: c.Time.UTC(), Distance: c.Distance, Judged: "different",
			Reason:   c.Reason.String(),
			Relation: newRelation(c.Likeness), Hidden: c.Hidden,
		}
		if c.Kind != 0 {
			n.Judged = c.Kind.String()
		}
		stored, _ := evidence.Decode(c.Signature)
		for _, f := range l.rule.Figures(c.Distance, evidence.Compare(&own, &stored)) {
			n.Figures = append(n.Figures, Figure{f.Name, f.Value, f.Limit, f.Setting})
		}
		out.Nearest = append(out.Nearest, n)
	}
	return out
}

func newRef(r article.Ref) *Ref { return &Ref{r.String(), r.ID} }

func newRelation(l article.Likeness) *Relation {
	if l.Relation == article.RelationNone {
		return nil
	}
	return &Relation{l.Relation.String(), l.Similarity.Float(), l.Contained.Float(), l.Contains.Float()}
}
