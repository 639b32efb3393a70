package eval

import (
	"slices"
	"sort"
	"strconv"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/pipeline/signature"
	"echosieve/simhash"
)

// Scale is a setting whose value is to be chosen: its limits from strict to loose.
type Scale struct {
	Name    string   // of the setting, with its unit
	Limits  []string // as the setting is written
	Current int      // place of the present one
	// Level is the place in Limits of the strictest one at which the later of two articles is held to repeat the
	// earlier one; len(Limits) or more: at none. It is not asked about little text. Safe for concurrent use.
	Level func(later, earlier *article.Article) int
}

// DistanceScale is the Hamming distance from 0 to MaxPlainDistance bits.
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

// SimilarityScale is the least similarity of copies in the second check, Thresholds.Near. All else stays as it is set.
func SimilarityScale(rule article.Rule, plan lookup.Plan, current signature.Thresholds) Scale {
	values := []float64{current.Near}
	for percent := 95; percent >= 10; percent -= 5 {
		values = append(values, float64(percent)/100)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	slices.Reverse(values)
	s := Scale{Name: "least similarity (detection.near)", Current: slices.Index(values, current.Near)}
	rules := make([]signature.Thresholds, len(values))
	for i, near := range values {
		s.Limits = append(s.Limits, strconv.FormatFloat(near, 'g', -1, 64))
		rules[i] = current
		rules[i].Near, rules[i].Possible = near, min(near, current.Possible)
	}
	s.Level = func(later, earlier *article.Article) int {
		distance := simhash.Distance(later.Fingerprint, earlier.Fingerprint)
		if distance > rule.MaxDistance || !plan.Finds(later, earlier) {
			return len(rules)
		}
		a, _ := signature.Decode(later.Signature)
		b, _ := signature.Decode(earlier.Signature)
		c := signature.Compare(&a, &b)
		// What is a copy at a strict limit is one at every looser limit.
		return sort.Search(len(rules), func(i int) bool {
			return signature.Judge(distance, c, rules[i]).Kind == article.Near
		})
	}
	return s
}
