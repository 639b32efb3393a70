package evidence

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

func TestRelation(t *testing.T) {
	for _, c := range []struct {
		contained, contains float64
		want                article.Relation
	}{
		{1, .93, article.Contained},
		{1, .3, article.Contained},
		{.96, .9, article.Contained},
		{.9, .7, article.Contained},
		{.89, .5, article.Overlaps},  // too much of its own
		{.9, .85, article.Overlaps},  // the other has little more of its own
		{.89, .89, article.Overlaps}, // words were replaced
		{.98, .98, article.Equal},    // a source line
		{.97, .955, article.Equal},   // lengths are not known so exactly
		{.5, .5, article.Overlaps},
		{1, 1, article.Equal},
	} {
		t.Run(fmt.Sprint(c.contained, c.contains), func(t *testing.T) {
			rule := Rule{Thresholds: DefaultThresholds()}
			e := rule.evidence(0, Comparison{Contained: c.contained, Contains: c.contains})
			require.Equal(t, c.want, e.relation())
			e = rule.evidence(0, Comparison{Contained: c.contains, Contains: c.contained})
			mirrored := c.want
			if c.want == article.Contained {
				mirrored = article.Extends
			}
			require.Equal(t, mirrored, e.relation())
		})
	}
}

func TestCorrected(t *testing.T) {
	same := Comparison{
		Known: true, J: .95, Contained: .97, Contains: .97, Containment: .97, Bigrams: 300, Longer: 1,
		SharedContexts: 8, LeastValues: 8, CommonValues: 8, LeastAll: 8, CommonAll: 8, Lead: 1, SameForemost: true,
	}
	for name, c := range map[string]struct {
		change func(*Comparison)
		want   article.Relation
	}{
		"no number differs":       {func(*Comparison) {}, article.Equal},
		"one in its place":        {func(c *Comparison) { c.Contradictions, c.CommonValues = 1, 7 }, article.Revises},
		"one in no sampled place": {func(c *Comparison) { c.CommonValues = 7 }, article.Revises},
		"words differ, too": {func(c *Comparison) {
			c.J, c.Contained, c.Contains, c.Contradictions = .8, .89, .89, 1
		}, article.Revises},
		"many words differ": {func(c *Comparison) {
			c.J, c.Contained, c.Contains, c.Contradictions = .69, .82, .82, 1
		}, article.Overlaps},
		"extended, too": {func(c *Comparison) {
			c.J, c.Contained, c.Contains, c.Contradictions = .8, .8, 1, 1
		}, article.Revises},
		"extended by much": {func(c *Comparison) {
			c.J, c.Contained, c.Contains, c.Contradictions = .69, .69, 1, 1
		}, article.Extends},
		"cut off with its number": {func(c *Comparison) {
			c.J, c.Contained, c.Contains, c.CommonValues, c.LeastValues = .8, 1, .8, 6, 7
		}, article.Contained},
	} {
		t.Run(name, func(t *testing.T) {
			comparison := same
			c.change(&comparison)
			j := judge(0, comparison)
			require.Equal(t, near, j.Kind)
			require.Equal(t, c.want, j.Relation)
		})
	}
}

func TestLikenessShares(t *testing.T) {
	rule := Rule{Thresholds: DefaultThresholds()}
	e := rule.evidence(0, Comparison{J: .834, Contained: .9, Contains: .999})
	l := e.likeness()
	require.Equal(t, article.Likeness{Relation: article.Extends, Similarity: 83, Contained: 90, Contains: 100}, l)
}
