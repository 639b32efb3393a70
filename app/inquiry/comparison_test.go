package inquiry

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"

	"echosieve/app/config"
	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
)

func newJudge(t *testing.T) *Judge {
	t.Helper()
	cfg := config.Default()
	made, err := cfg.LoadRecipe()
	require.NoError(t, err)
	return NewJudge(cfg, made)
}

// A new reason needs a sentence of its own, or a row of the rule: otherwise compare would print "Not a copy:
// " and nothing else.
func TestEveryReasonHasASentence(t *testing.T) {
	judge := newJudge(t)
	sentences := map[string]article.Reason{}
	for r := article.ReasonNone; r == article.ReasonUnknown || r.String() != article.ReasonUnknown.String(); r++ {
		if r == article.ReasonOverlap || r == article.ReasonNumbers || r == article.ReasonValues ||
			r == article.ReasonLead || r == article.ReasonSubject || r == article.ReasonPublisher {
			continue // rows of the rule
		}
		sentence := judge.explain(&Comparison{}, article.Judgement{Reason: r})
		require.Regexp(t, `[a-z].*: .+|^No verdict`, sentence, "reason %s: add a case to explain", r)
		require.NotContains(t, sentences, sentence, "reason %s", r)
		sentences[sentence] = r
	}
}

// The sentence, the verdict and the figure are those of the row that decided.
func TestExplanationsFollowFromRows(t *testing.T) {
	judge := newJudge(t)
	base := evidence.Comparison{Known: true, J: .9, Bigrams: 300, Longer: 1, Lead: 1, SharedContexts: 4,
		LeastValues: 4, CommonValues: 4, SameForemost: true}
	said := map[string]bool{}
	for want, change := range map[string]func(c *Comparison){
		"bits that differ: 17":            func(c *Comparison) { c.Distance = 17 },
		"at least 0.30 (detection.p":      func(c *Comparison) { c.compared.J = .2 },
		"numbers that differ in one plac": func(c *Comparison) { c.compared.Contradictions = 3 },
		"numbers in both: 1 of 4":         func(c *Comparison) { c.compared.CommonValues = 1 },
		"texts about a word that the oth": func(c *Comparison) { c.compared.OtherSubject = true },
		"new in the later article: 1.00,": func(c *Comparison) { c.compared.OnePublisher, c.compared.Containment = true, .7 },
		"beginning of one in the other":   func(c *Comparison) { c.compared.Lead, c.compared.OtherMain = 0, 2 },
		"0.90, a copy from 0.44":          func(*Comparison) {},
		"0.43, a copy from 0.44":          func(c *Comparison) { c.compared.J, c.compared.OtherMain = .43, 1 },
	} {
		c := Comparison{compared: base, Found: true, Topic: "duplicate"}
		change(&c)
		j := judge.rule.Judge(c.Distance, c.compared)
		c.Explanation = judge.explain(&c, j)
		require.Contains(t, c.Explanation, want)
		row, _, _ := judge.rule.Explain(c.Distance, c.compared)
		require.Contains(t, c.Explanation, row.Says)
		said[row.Says] = true

		names, state := map[string]bool{}, evidence.Passed
		for _, f := range judge.figures(c.Distance, c.compared) {
			require.False(t, names[f.Name], "%s stands there twice", f.Name)
			names[f.Name] = true
			if f.State == evidence.Decided {
				require.Equal(t, evidence.Passed, state)
				require.Contains(t, c.Explanation, f.String())
				state = evidence.NotAsked
				continue
			}
			require.Equal(t, state, f.State, f.Name)
		}
		require.Equal(t, evidence.NotAsked, state, "one row decides")
	}
	require.Len(t, said, len(evidence.Rows()), "each row explains something")
}

// A line of the terminal has the beginning of a long title, whole characters and in its columns.
func TestLongTitlesAreCut(t *testing.T) {
	for _, letter := range []string{"x", "\u65b0", "\x1b"} {
		d := Article{Record: "articles/0/2", ID: "articles/0/2", Title: strings.Repeat(letter, 4<<20)}
		line := d.String()
		require.LessOrEqual(t, text.StringWidth(line), mostTitle+len(`articles/0/2, ""`))
		require.True(t, utf8.ValidString(line))
		require.Greater(t, text.StringWidth(line), mostTitle)
		require.NotContains(t, line, "\x1b")
	}
}

// MostFound is mostFound, for the tests that import packages which import this one.
const MostFound = mostFound

func TestProgress(t *testing.T) {
	var r Reader
	require.Empty(t, r.line(time.Minute), "nothing was read yet")
	r.progress.Store(&progress{article.Coordinates{Topic: "articles-unique", Partition: 3}, 25, 2})
	require.Equal(t, "searching articles-unique/3: 25% (2 records so far)", r.line(time.Minute))
}
