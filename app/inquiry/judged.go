// Package inquiry answers how articles compare: what the later one is to the earlier one, which row of the rule decided,
// and which figure stood against which limit. Commands, the console and /v1/look print its answers.
//
// What it knows of articles comes from Kafka (Reader) and from the index. It writes nothing to either. A Reader needs
// Read on the topics, joins no consumer group and commits nothing.
package inquiry

import (
	"fmt"
	"strings"
	"time"

	"echosieve/app/config"
	"echosieve/app/visible"
	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/lookup"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
)

// The JSON names of this package's types must not change.

// Ref names an article.
type Ref struct {
	Record string `json:"record"` // coordinates of the input
	ID     string `json:"id"`
}

func newRef(r article.Ref) *Ref { return &Ref{r.String(), r.ID} }

// Relation is what an article is to an earlier one, with the names of the headers. The shares are 0 if they are not
// known.
type Relation struct {
	Name       string  `json:"relation"`
	Similarity float64 `json:"similarity,omitempty"`
	Contained  float64 `json:"contained,omitempty"`
	Contains   float64 `json:"contains,omitempty"`
}

// NewRelation returns nil if there is no relation.
func NewRelation(l article.Likeness) *Relation {
	if l.Relation == article.RelationNone {
		return nil
	}
	return &Relation{l.Relation.String(), l.Similarity.Float(), l.Contained.Float(), l.Contains.Float()}
}

// String is the relation in a line of other facts, such as "extends (similarity 0.91)".
func (r *Relation) String() string {
	if r.Similarity == 0 {
		return r.Name
	}
	return fmt.Sprintf("%s (similarity %.2f)", r.Name, r.Similarity)
}

// Judged is what an article is to an earlier one alone, whatever else the index holds.
type Judged struct {
	Distance int    `json:"distance"` // bits
	Kind     string `json:"judged"`   // exact, near, possible, different, or empty: at least one has no text
	Reason   string `json:"reason"`
	*Relation
	Figures []evidence.Asked `json:"figures,omitempty"` // by which the rule decides
}

// String is the judgement without its figures, in one line.
func (j *Judged) String() string {
	s := fmt.Sprintf("%s away: %s (%s)", visible.Count(j.Distance, "bit"), j.Kind, j.Reason)
	if j.Relation != nil {
		s += ", " + j.Relation.String()
	}
	return s
}

// Judge tells what articles are to each other by the recipe, the rule and the look-ups of one configuration.
type Judge struct {
	recipe *recipe.Recipe
	index  keyspace.Config
	plan   lookup.Plan
	rule   evidence.Rule
}

// NewJudge returns the Judge of a configuration with its recipe.
func NewJudge(cfg config.Config, made *recipe.Recipe) *Judge {
	index := cfg.IndexConfig(made.ID())
	return &Judge{made, index, index.Plan(), cfg.RecipeConfig().Rule()}
}

// tell describes a judgement about two articles.
func (t *Judge) tell(j article.Judgement, distance int, compared evidence.Comparison) Judged {
	told := Judged{Distance: distance, Kind: "different", Reason: j.Reason.String(), Relation: NewRelation(j.Likeness),
		Figures: t.figures(distance, compared)}
	switch {
	case j.Reason == article.ReasonNone:
		told.Kind = "empty"
	case j.Kind != 0:
		told.Kind = j.Kind.String()
	}
	return told
}

// Candidate tells what an article would be to a stored one that its look-ups find.
func (t *Judge) Candidate(later *article.Article, c *redisindex.Candidate) Judged {
	return t.tell(c.Judgement, c.Distance, evidence.CompareArticles(later, &c.Article))
}

// figures lists the measures of the rule. Without signatures there is the distance only.
func (t *Judge) figures(distance int, compared evidence.Comparison) []evidence.Asked {
	bits := evidence.Asked{State: evidence.Passed, Figure: evidence.Figure{Name: "bits that differ",
		Value: fmt.Sprint(distance), Limit: fmt.Sprintf("at most %d", t.index.MaxDistance)}}
	list := []evidence.Asked{bits}
	asked, beyond := t.rule.Figures(distance, compared), distance > t.index.MaxDistance
	if beyond || len(asked) == 0 {
		list[0].State = evidence.Decided
	}
	for _, f := range asked {
		if beyond {
			f.State = evidence.NotAsked
		}
		switch {
		case f.Name != bits.Name:
			list = append(list, f)
		case f.State == evidence.Decided: // by a lower limit
			list[0] = f
		}
	}
	return list
}

// Stored is what the index has of an article.
type Stored struct {
	Ref
	Time        time.Time `json:"time"`
	Fingerprint string    `json:"fingerprint"`
	Ticket      uint64    `json:"ticket"`
	Verdict     string    `json:"verdict"` // unique, possible, near, exact or undecided
	Reason      string    `json:"reason,omitempty"`
	Original    string    `json:"original,omitempty"`
	Root        string    `json:"root,omitempty"`
	Overflow    bool      `json:"overflow,omitempty"` // only a replay or an exact repeat of the article finds the entry
	Hidden      bool      `json:"hidden,omitempty"`   // only a replay of its record finds the entry
}

// NewStored describes a stored article.
func NewStored(s *keyspace.StoredArticle) *Stored {
	told := &Stored{Ref: *newRef(s.Ref()), Time: s.Time.UTC(), Fingerprint: s.Fingerprint.String(), Ticket: s.Ticket,
		Verdict: "undecided", Overflow: s.Overflow, Hidden: s.Hidden}
	if v := s.Verdict; v.Kind != 0 {
		told.Verdict, told.Root = v.Kind.String(), v.Root.String()
		if v.Kind != article.Unique {
			told.Reason, told.Original = v.Reason.String(), v.Original.String()
		}
	}
	return told
}

// String says how the index holds the article.
func (s *Stored) String() string {
	if s.Hidden {
		return fmt.Sprintf("hidden in the index with fingerprint %s: no later article is a copy of it", s.Fingerprint)
	}
	parts := []string{fmt.Sprintf("in the index with fingerprint %s, ticket %d", s.Fingerprint, s.Ticket)}
	switch {
	case s.Verdict == "undecided":
		parts = append(parts, "undecided")
	case s.Overflow:
		parts = append(parts, "an overflow entry, which only a replay or an exact repeat finds")
	}
	return strings.Join(parts, ", ")
}
