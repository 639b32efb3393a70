package inquiry

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"

	"echosieve/app/config"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/redisindex"
	"echosieve/redisindex/connection"
)

// MostLooked is the number of articles of one look.
const MostLooked = 100

// mostNearest bounds the stored articles of an answer.
const mostNearest = 10

// note stands in every answer.
const note = "This is advice: nothing was stored, and the article may get another verdict when it comes."

// Answer is the answer to a look: what articles would be if they came now. It is advice: between a look and the
// record the index may change, and two articles that are looked up at the same time do not see each other. Only a
// record of the input topic gets a verdict that lasts.
type Answer struct {
	Note     string     `json:"note"`
	Recipe   string     `json:"recipe"`
	Articles []LookedUp `json:"articles"` // in the order of the request
}

// LookedUp says what one article would be.
type LookedUp struct {
	ID      string `json:"id,omitempty"`
	Verdict string `json:"verdict"` // unique, possible, near, exact or dead
	// the test that decides, or why the record would be a dead letter
	Reason      string `json:"reason,omitempty"`
	Detail      string `json:"detail,omitempty"` // of a dead letter
	Topic       string `json:"topic"`            // unique, possible, duplicate or dead: which topic
	Distance    int    `json:"distance"`         // from the original, in bits
	*Relation          // to the original
	Original    *Ref   `json:"original,omitempty"`    // of a copy or possible copy
	Root        *Ref   `json:"root,omitempty"`        // of a copy; absent while the original has no verdict
	Fingerprint string `json:"fingerprint,omitempty"` // absent for little text
	// Repeated are sentences that its publisher repeats. They are left out of what is compared.
	Repeated []Repeated `json:"repeated,omitempty"`
	Nearest  []Nearest  `json:"nearest"` // the nearest first
}

// Nearest is a stored article that the look-ups find, and what the article would be to it alone.
type Nearest struct {
	Ref
	Time time.Time `json:"time"`
	Judged
	Hidden bool `json:"hidden,omitempty"` // the index hides it: no article is a copy of it
}

// Looker looks articles up. Safe for concurrent use.
type Looker struct {
	input   decode.Config
	largest int // bytes of a record
	judge   *Judge
	index   *redisindex.Index
	// bytes of the articles that requests look up, a share of inFlight at least for each
	working *semaphore.Weighted
	reading *semaphore.Weighted // bytes that requests have announced; one that announces none counts as maxBody
}

// NewLooker returns a Looker of an index with its recipe.
func NewLooker(cfg config.Config, made *recipe.Recipe, index *redisindex.Index) *Looker {
	return &Looker{
		input: cfg.Input.AsJSON(), largest: cfg.Kafka.MaxMessageBytes,
		judge: NewJudge(cfg, made), index: index,
		working: semaphore.NewWeighted(maxBody), reading: semaphore.NewWeighted(maxReading),
	}
}

// Look answers for articles, at most MostLooked of them, each as a value of the input topic. What is wrong with an
// article is in the answer; an error says that the index cannot be read.
func (l *Looker) Look(ctx context.Context, values [][]byte) (Answer, error) {
	answer := Answer{Note: note, Recipe: l.judge.recipe.ID(), Articles: make([]LookedUp, 0, len(values))}
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
func (l *Looker) one(ctx context.Context, value []byte, now time.Time) (LookedUp, error) {
	r := record.Record{Value: value, Time: now}
	if len(r.Value) > l.largest {
		return rejected("", record.Reject(record.TooLarge,
			"%d bytes, kafka.max_message_bytes is %d", len(r.Value), l.largest)), nil
	}
	var content article.Content
	var reject *record.RejectError
	var a article.Article
	var repeated []Repeated
	if err := l.input.With(ctx, &r, func(found article.Content, why *record.RejectError) {
		if content, reject = found, why; reject == nil {
			a, _ = l.judge.recipe.Fingerprint(content.Text, content.Origin(now))
			repeated = l.judge.repeated(content.Text, "", content.Origin(now), &a)
		}
	}); err != nil {
		return LookedUp{}, err
	}
	if content.ID == r.String() { // the coordinates, which the record will have
		content.ID = ""
	}
	if reject == nil {
		reject = record.NoArticle(&a)
	}
	if reject != nil {
		return rejected(content.ID, reject), nil //nolint:nilerr // the reject is the answer
	}
	a.ID, a.Time = content.ID, now
	advice, err := l.index.Advise(ctx, &a)
	if err != nil {
		return LookedUp{}, err
	}
	looked := l.describe(&a, &advice)
	looked.Repeated = repeated
	return looked, nil
}

// rejected says what becomes of a record without an article.
func rejected(id string, reject *record.RejectError) LookedUp {
	out := LookedUp{ID: id, Verdict: article.ToDead.String(), Topic: article.ToDead.String(),
		Reason: string(reject.Reason), Detail: reject.Detail, Nearest: []Nearest{}}
	if reject.IsDeletion() {
		out.Verdict, out.Topic, out.Reason = article.Unique.String(), article.ToUnique.String(), "tombstone"
	}
	return out
}

func (l *Looker) describe(a *article.Article, advice *redisindex.Advice) LookedUp {
	v := &advice.Verdict
	out := LookedUp{ID: a.ID, Verdict: v.Kind.String(), Topic: v.Destination.String(), Distance: v.Distance,
		Relation: NewRelation(v.Likeness), Nearest: []Nearest{}}
	if !a.LittleText {
		out.Fingerprint = a.Fingerprint.String()
	}
	if v.Kind != article.Unique {
		out.Reason, out.Original = v.Reason.String(), newRef(v.Original)
	}
	if v.Kind.IsCopy() && v.Root != (article.Ref{}) {
		out.Root = newRef(v.Root)
	}
	for i := range advice.Candidates[:min(len(advice.Candidates), mostNearest)] {
		c := &advice.Candidates[i]
		out.Nearest = append(out.Nearest, Nearest{Ref: *newRef(c.Ref()), Time: c.Time.UTC(), Judged: l.judge.Candidate(a, c),
			Hidden: c.Hidden})
	}
	return out
}

// Open returns the recipe of a configuration and its index: see OpenIndex.
func Open(ctx context.Context, cfg config.Config) (*recipe.Recipe, *redisindex.Index, error) {
	made, err := cfg.LoadRecipe()
	if err != nil {
		return nil, nil, err
	}
	index, err := OpenIndex(ctx, cfg, made)
	return made, index, err
}

// OpenIndex opens the index of a configuration with its recipe, to read it. An error says at once what is wrong with
// the servers. The caller closes Client of the index.
func OpenIndex(ctx context.Context, cfg config.Config, made *recipe.Recipe) (*redisindex.Index, error) {
	client, err := connection.Connect(cfg.Redis.Options)
	if err != nil {
		return nil, err
	}
	index, err := redisindex.New(client, cfg.IndexConfig(made.ID()), nil, slog.New(slog.DiscardHandler), nil)
	if err == nil {
		err = connection.Explain(connection.Ping(ctx, client), client, cfg.Redis.Namespace)
	}
	if err != nil {
		_ = client.Close() // nothing was written
		return nil, err
	}
	return index, nil
}
