package compare

import (
	"fmt"
	"strings"

	"echosieve/pipeline/signature"
)

// Figure is a measure by which the rule decides, beside its limit.
type Figure struct {
	Name     string   `json:"name"`
	Value    string   `json:"value"`
	Limit    string   `json:"limit"`
	Settings []string `json:"settings,omitempty"` // that hold the limit; none: it is part of the recipe
}

// figures lists the measures of the second check. Without signatures there is the distance only.
func (c *Comparison) figures(t signature.Thresholds) []Figure {
	list := []Figure{{"bits that differ", fmt.Sprint(c.Distance), fmt.Sprintf("at most %d", c.MaxDistance), []string{"detection.max_distance"}}}
	s := c.Signature
	switch {
	case s == nil:
		return list
	case s.Flash:
		return append(list,
			Figure{"words and word pairs in both", share(s.Similarity), "possible from " + share(signature.FlashNear), nil},
			Figure{"of the shorter text", share(s.Containment), "a copy contains it", nil},
			Figure{"numbers in both", fmt.Sprintf("%d of %d", s.NumbersShared, s.Numbers), "all", nil})
	}
	return append(list,
		Figure{
			"word pairs in both", share(s.Similarity),
			fmt.Sprintf("copy from %s, with other evidence from %s, possible from %s", share(t.Near), share(t.Vouched), share(t.Possible)),
			[]string{"detection.near", "detection.vouched", "detection.possible"},
		},
		Figure{"of the shorter text", share(s.Containment), "contained from " + share(signature.ContainedShare), nil},
		Figure{
			"word pairs of the shorter text", fmt.Sprint(s.WordPairs),
			fmt.Sprintf("short below %d: copy from %s", signature.ShortPairs, share(t.ShortNear)),
			[]string{"detection.short_near"},
		},
		Figure{
			"numbers that differ in one place", fmt.Sprintf("%d of %d", s.Contradictions, s.SharedPlaces),
			"less than " + share(t.Contradictions) + " of them",
			[]string{"detection.contradictions"},
		},
		Figure{
			"numbers in both", fmt.Sprintf("%d of %d", s.NumbersShared, s.Numbers),
			"at least " + share(t.Values) + " of them",
			[]string{"detection.values"},
		},
		Figure{"beginning of one in the other", share(s.Beginning), "at least " + share(signature.LeastLeadShare) + ", or over half of the numbers in both", nil},
		Figure{"one rises, the other falls", yesNo(s.Opposite), "no", nil})
}

func share(x float64) string { return fmt.Sprintf("%.2f", x) }

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// Setting names the settings of a figure's limit in one word.
func (f Figure) Setting() string { return strings.Join(f.Settings, " ") }
