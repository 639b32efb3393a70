package figures

import (
	"slices"
	"sort"
	"strconv"

	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// Scale is a setting whose value the user wants to choose, with possible limits from strict to loose.
type Scale struct {
	Name    string   // the setting, with its unit
	Limits  []string // as a user writes them
	Current int      // place of the present limit
	// Level returns the place in Limits of the strictest limit at which the later article is judged to be a
	// copy of the earlier one, len(Limits) or more if there is none. It is not called for little text. Safe
	// for concurrent use.
	Level func(later, earlier *article.Article) int
}

// DistanceScale returns the scale of the Hamming distance, from 0 to MaxPlainDistance bits.
func DistanceScale(current int) Scale {
	s := Scale{
		Name: "largest distance (bits)", Current: min(current, MaxPlainDistance),
		Level: func(a, b *article.Article) int { return simhash.Distance(a.Fingerprint, b.Fingerprint) },
	}
	for k := range MaxPlainDistance + 1 {
		s.Limits = append(s.Limits, strconv.Itoa(k))
	}
	return s
}

// SimilarityScale returns the scale of Thresholds.Near, the least similarity of copies in the second check.
// All other settings stay as they are.
func SimilarityScale(plan lookup.Plan, current evidence.Thresholds) Scale {
	values := []float64{current.Near}
	for percent := 95; percent >= 10; percent -= 5 {
		values = append(values, float64(percent)/100)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	slices.Reverse(values)
	s := Scale{Name: "least similarity (detection.near)", Current: slices.Index(values, current.Near)}
	rules := make([]evidence.Rule, len(values))
	for i, near := range values {
		s.Limits = append(s.Limits, strconv.FormatFloat(near, 'g', -1, 64))
		rules[i] = evidence.NewRule(current)
		rules[i].Near, rules[i].Possible = near, min(near, current.Possible)
	}
	s.Level = func(later, earlier *article.Article) int {
		if !plan.Finds(later, earlier) || !plan.InReach(later, earlier) {
			return len(rules)
		}
		a, _ := evidence.Decode(later.Signature)
		b, _ := evidence.Decode(earlier.Signature)
		c, distance := evidence.Compare(&a, &b), simhash.Distance(later.Fingerprint, earlier.Fingerprint)
		// A copy at one limit is a copy at every looser limit.
		return sort.Search(len(rules), func(i int) bool {
			return rules[i].Judge(distance, c).Kind == article.Near
		})
	}
	return s
}

// Reasons of a Judgement for which no test of the second check was made.
const (
	ReasonNotFound = "not found" // no look-up for the later article finds the earlier one
	ReasonNoText   = "no text"   // one of the two articles has no text
)

// Judgement is the verdict of the service on two articles within one window.
type Judgement struct {
	Flagged   bool   // the later article is published as a copy
	Possible  bool   // they look alike, but not enough; never with Flagged
	Published bool   // flagged, but the policy sends the later article to another topic than that of duplicates
	Candidate bool   // a look-up for the later article finds the earlier one
	Distance  int    // between the fingerprints, in bits
	Relation  string // of the later article to the earlier one, if it is flagged or possible; otherwise "none"
	Reason    string // the test that decided, as in the header echosieve-reason, or one of the reasons above
}

// Judge judges the later of two articles against the earlier one. Safe for concurrent use.
type Judge func(later, earlier article.Article) Judgement

// ByRecipe returns the rule of the service, and its policy.
func ByRecipe(rule article.Rule, plan lookup.Plan, policy article.Policy) Judge {
	return func(later, earlier article.Article) Judgement {
		if later.Empty || earlier.Empty {
			return Judgement{Reason: ReasonNoText}
		}
		out := Judgement{Distance: simhash.Distance(later.Fingerprint, earlier.Fingerprint), Reason: ReasonNotFound}
		if plan.Finds(&later, &earlier) {
			decided := plan.Judge(&rule, &later, &earlier)
			out.Flagged, out.Possible, out.Candidate = decided.Kind.IsCopy(), decided.Kind == article.Possible, true
			out.Published = out.Flagged && policy.Destination(decided) != article.ToDuplicate
			out.Reason, out.Relation = decided.Reason.String(), decided.Relation.String()
		}
		return out
	}
}
