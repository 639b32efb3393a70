package articles

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/test/ledger"
)

// The rule says of two articles of a family what their facts say, whichever comes first. Who published them, and when,
// is evidence as well.
func TestFactsAreWhatTheRuleSays(t *testing.T) {
	news, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	decoder := decode.New(decode.DefaultConfig())
	w := NewWriter(1, "a", news, true)
	w.Famous, w.MaxFamily = 40, 39 // as rounds of stories have them
	plan := w.Index.Plan()
	families := map[string][]article.Article{}
	pairs := map[Role]int{}
	for range 1500 {
		for _, r := range w.Write() {
			fact, known := w.Facts[string(r.Key)]
			if !known {
				continue
			}
			content, reject := decoder.Decode(&record.Record{Key: r.Key, Value: r.Value, Time: r.Timestamp})
			require.Nil(t, reject)
			a, _ := news.Fingerprint(content.Text, content.Origin(r.Timestamp))
			a.ID, a.Time = content.ID, r.Timestamp
			for _, b := range families[fact.Family] {
				other := w.Facts[b.ID]
				pairs[max(fact.Role, other.Role)]++
				for _, judged := range []article.Judgement{
					plan.Judge(&w.Index.Rule, &a, &b), plan.Judge(&w.Index.Rule, &b, &a),
				} {
					if isCopy := judged.Kind.IsCopy(); isCopy && !fact.MayMatch(other) || !isCopy && fact.MustMatch(other) {
						t.Errorf("%s (%+v) and %s (%+v) are %s by %s", a.ID, fact, b.ID, other, judged.Kind, judged.Reason)
					}
				}
			}
			families[fact.Family] = append(families[fact.Family], a)
		}
	}
	for _, role := range []Role{Exact, Near, Version} {
		require.Greater(t, pairs[role], 200, role)
	}
}

// unique and copyOf are what a service publishes of an article; the original of a copy stands at coordinates.
var unique = &ledger.Outcome{Headers: map[string]string{pipeline.HeaderVerdict: "unique"}}

func copyOf(original string) *ledger.Outcome {
	return &ledger.Outcome{Headers: map[string]string{pipeline.HeaderVerdict: "near", pipeline.HeaderOriginal: original}}
}

// The mistakes that package ledger cannot know. Coordinates are the ids of the articles here.
func TestMistakesInOutputsAreFound(t *testing.T) {
	facts := map[string]Fact{
		"in/0/1": {Family: "a"}, "in/0/2": {Family: "a", Role: Near}, "in/0/3": {Family: "b"},
		"in/1/0": {Family: "chain", Role: Version}, "in/1/1": {Family: "chain", Role: Version, Step: 1},
		"in/1/2": {Family: "chain", Role: Version, Step: 2},
	}
	for name, c := range map[string]struct {
		seen map[string]*ledger.Outcome
		want []ledger.Kind
	}{
		"none": {map[string]*ledger.Outcome{"in/0/1": unique, "in/0/2": copyOf("in/0/1"), "in/0/3": unique,
			"in/1/0": unique, "in/1/1": copyOf("in/1/0"), "in/1/2": unique}, nil},
		"a text does not come through": {map[string]*ledger.Outcome{"in/0/1": copyOf("in/0/2"),
			"in/0/2": copyOf("in/0/1")}, []ledger.Kind{ledger.LostText}},
		"a copy is unique": {map[string]*ledger.Outcome{"in/0/1": unique, "in/0/2": unique}, []ledger.Kind{ledger.Twin}},
		"a copy of another text": {map[string]*ledger.Outcome{"in/0/1": unique, "in/0/2": copyOf("in/0/3"),
			"in/0/3": unique}, []ledger.Kind{ledger.Unrelated}},
		"a version that is not the neighbour": {map[string]*ledger.Outcome{"in/1/0": unique, "in/1/2": copyOf("in/1/0")},
			[]ledger.Kind{ledger.Unrelated}},
	} {
		t.Run(name, func(t *testing.T) {
			inputs := map[string]*kgo.Record{}
			for at := range c.seen {
				inputs[at] = &kgo.Record{Key: []byte(at)}
			}
			var kinds []ledger.Kind
			_, bad := relate(inputs, c.seen, facts)
			for _, v := range bad {
				kinds = append(kinds, v.Kind)
			}
			require.Equal(t, c.want, kinds)
		})
	}
}
