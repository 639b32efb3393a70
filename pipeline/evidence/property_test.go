package evidence

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

// randomRule returns the default rule, or in half of all cases a rule with other thresholds.
func randomRule(r *rand.Rand) Rule {
	t := DefaultThresholds()
	if r.IntN(2) == 0 {
		t = Thresholds{Near: r.Float64(), ShortNear: r.Float64(), Values: r.Float64()}
		t.Possible = t.Near * r.Float64()
	}
	return Rule{Thresholds: t}
}

// randomComparison returns a comparison that two signatures can have.
func randomComparison(r *rand.Rand) Comparison {
	c := Comparison{
		Known: true, Flash: r.IntN(10) == 0, J: math.Round(100*r.Float64()) / 100, Contained: r.Float64(),
		Contains: r.Float64(), SharedContexts: r.IntN(14), LeastValues: r.IntN(10),
	}
	if r.IntN(2) == 0 {
		c.Contained = .7 + .3*r.Float64()
	}
	c.Containment = max(c.Contained, c.Contains)
	c.Contradictions = r.IntN(min(3, c.SharedContexts) + 1)
	c.CommonValues = c.LeastValues - r.IntN(min(3, c.LeastValues)+1)
	heads := r.IntN(3)
	c.LeastAll, c.CommonAll = c.LeastValues+heads, c.CommonValues+heads
	c.SameValues = c.CommonValues == c.LeastValues && r.IntN(2) == 0
	c.HeadContradictions = r.IntN(2)
	c.OnePublisher, c.SameAddress = r.IntN(3) == 0, r.IntN(4) == 0
	c.Apart = time.Duration(r.IntN(72)) * time.Hour
	if c.Flash {
		return c
	}
	c.Bigrams, c.Longer, c.Growth = 20+200*r.Float64(), 1+2*r.Float64()*r.Float64(), r.Float64()
	c.OtherMain, c.OtherSubject = r.IntN(9), r.IntN(4) == 0
	c.Repeated = r.IntN(9 - c.OtherMain)
	c.SameForemost = c.OtherMain <= 3 && r.IntN(3) > 0
	c.Lead = leadShare(leadSlots, r.IntN(leadSlots+1))
	c.SameLead = c.Longer > 1 && r.IntN(3) == 0
	return c
}

// differences are changes after which two articles differ more. Each tells whether there was something to change.
var differences = map[string]func(c *Comparison, distance *int, r *rand.Rand) bool{
	"a number in a place": func(c *Comparison, _ *int, _ *rand.Rand) bool {
		c.Contradictions++
		return c.Contradictions <= c.SharedContexts
	},
	"a number of the version": func(c *Comparison, _ *int, _ *rand.Rand) bool { c.HeadContradictions++; return true },
	"a place in common": func(c *Comparison, _ *int, _ *rand.Rand) bool {
		c.SharedContexts--
		return c.SharedContexts >= c.Contradictions
	},
	"a number in common": func(c *Comparison, _ *int, _ *rand.Rand) bool {
		c.CommonValues, c.CommonAll, c.SameValues = c.CommonValues-1, c.CommonAll-1, false
		return c.CommonValues >= 0
	},
	"a main word": func(c *Comparison, _ *int, _ *rand.Rand) bool {
		c.OtherMain++
		c.SameForemost = c.SameForemost && c.OtherMain <= 3
		return !c.Flash && c.OtherMain <= 8
	},
	"the foremost main words": func(c *Comparison, _ *int, _ *rand.Rand) bool {
		had := c.SameForemost
		c.SameForemost = false
		return had
	},
	"the subject": func(c *Comparison, _ *int, _ *rand.Rand) bool {
		c.OtherSubject = true
		return !c.Flash
	},
	"word pairs": func(c *Comparison, _ *int, r *rand.Rand) bool {
		c.J *= r.Float64()
		return true
	},
	"the share of a part": func(c *Comparison, _ *int, r *rand.Rand) bool {
		c.Contained, c.Contains = c.Contained*r.Float64(), c.Contains*r.Float64()
		c.Containment = max(c.Contained, c.Contains)
		return true
	},
	"the beginning": func(c *Comparison, _ *int, r *rand.Rand) bool {
		c.Lead, c.SameLead = c.Lead*r.Float64(), false
		return !c.Flash
	},
	"a main word that stands more than once": func(c *Comparison, _ *int, _ *rand.Rand) bool {
		c.Repeated--
		return c.Repeated >= 0
	},
	"how often words occur": func(c *Comparison, _ *int, r *rand.Rand) bool {
		c.Growth *= r.Float64()
		return true
	},
	"the time": func(c *Comparison, _ *int, r *rand.Rand) bool {
		c.Apart += time.Duration(r.IntN(48)) * time.Hour
		return true
	},
	"an address of its own": func(c *Comparison, _ *int, _ *rand.Rand) bool {
		c.SameAddress = false
		return true
	},
	"a bit": func(_ *Comparison, distance *int, _ *rand.Rand) bool { *distance++; return true },
}

// strength orders the verdicts about two articles.
func strength(k article.Kind) int {
	return map[article.Kind]int{0: 0, article.Possible: 1, article.Near: 2}[k]
}

// More difference never makes a stronger verdict.
func TestMoreDifferenceIsNoStrongerVerdict(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	weaker := map[string]int{}
	for range 20_000 {
		rule, c, distance := randomRule(r), randomComparison(r), r.IntN(22)
		was := rule.Judge(distance, c)
		for name, differ := range differences {
			more, bits := c, distance
			if !differ(&more, &bits, r) {
				continue
			}
			is := rule.Judge(bits, more)
			require.LessOrEqual(t, strength(is.Kind), strength(was.Kind),
				"%s: %v, %v\n%+v\n%+v\n%+v", name, was, is, rule.Thresholds, c, more)
			if strength(is.Kind) < strength(was.Kind) {
				weaker[name]++
			}
		}
	}
	for name := range differences {
		require.Positive(t, weaker[name], "%s never decides", name)
	}
}

// The figure that explains a verdict lies beyond its limit, as people read the two.
func TestFigureLiesBeyondItsLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 0))
	decided := map[*Row]int{}
	for range 20_000 {
		rule, c, distance := randomRule(r), randomComparison(r), r.IntN(22)
		row, f, _ := rule.Explain(distance, c)
		decided[row]++
		require.True(t, beyond(t, f, row.Kind), "%s, %s: %+v\n%+v\n%+v", row.Kind, row.Reason, f, rule.Thresholds, c)
	}
	require.Len(t, decided, len(rows), "each row decides")
}

// beyond tells whether a figure lies beyond its limit; of copies, whether it reaches the limit.
func beyond(t *testing.T, f Figure, kind article.Kind) bool {
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err, f)
		return x
	}
	words := strings.Fields(strings.TrimPrefix(f.Limit, "a ")) // "at most 3 ...", "copy from 0.44"
	sense, limit := words[0]+" "+words[1], words[2]
	part, whole, counted := strings.Cut(f.Value, " of ")
	value := number(part)
	if counted && strings.Contains(limit, ".") {
		value /= number(whole)
	}
	switch sense {
	case "at most":
		return value > number(limit)
	case "at least":
		return value < number(limit)
	case "more than":
		return value <= number(limit)
	case "less than":
		return value >= number(limit)
	case "copy from":
		return (value >= number(limit)) == (kind == article.Near)
	}
	t.Fatalf("unknown limit: %q", f.Limit)
	return false
}
