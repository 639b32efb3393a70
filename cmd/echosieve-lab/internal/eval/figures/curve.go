package figures

import (
	"math"

	"echosieve/pipeline/article"
)

// Step is what one value of a setting gives.
type Step struct {
	Value  float64 `json:"value"`
	Recall float64 `json:"recall"`
	Wrong  float64 `json:"wrong_share"` // of the look-alikes and versions, those that are dropped
	Missed int     `json:"missed"`      // copies that are not recognised
	Drops  int     `json:"wrong_drops"` // look-alikes and versions that are dropped
}

// Curve is what a setting gives over its values.
type Curve struct {
	Setting string `json:"setting"`
	Present int    `json:"present"` // place of the present value in Steps
	Steps   []Step `json:"steps"`
}

// The steps of a curve: so many on each side of the present value, as far as the setting goes.
const (
	stepsAside = 4
	stepWidth  = .04
)

// NewCurve judges pairs by each value of a setting between 0 and 1. judgeAt returns the judge with a value; nil: the
// service would refuse the value. Ignored, debatable and unknown pairs do not count; without any other pair the curve
// has no steps.
func NewCurve(setting string, present float64, articles map[string]article.Article, pairs, ignore []Pair,
	judgeAt func(value float64) Judge) Curve {
	c := Curve{Setting: setting}
	ignored := map[[2]string]bool{}
	for _, p := range ignore {
		ignored[[2]string{p.A, p.B}], ignored[[2]string{p.B, p.A}] = true, true
	}
	for n := -stepsAside; n <= stepsAside; n++ {
		value := math.Round(1000*(present+float64(n)*stepWidth)) / 1000
		judge := Judge(nil)
		if value >= 0 && value <= 1 {
			judge = judgeAt(value)
		}
		if judge == nil {
			continue
		}
		s, copies, others := Step{Value: value}, 0, 0
		for _, p := range pairs {
			a, knownA := articles[p.A]
			b, knownB := articles[p.B]
			if p.Label == Partial || ignored[[2]string{p.A, p.B}] || !knownA || !knownB {
				continue
			}
			switch j := judge(b, a); {
			case p.Label != Copy:
				others++
				if j.Flagged && !j.Published {
					s.Drops++
				}
			default:
				copies++
				if !j.Flagged {
					s.Missed++
				}
			}
		}
		if copies+others == 0 {
			return c
		}
		s.Recall, s.Wrong = ratio(copies-s.Missed, copies), ratio(s.Drops, others)
		if n == 0 {
			c.Present = len(c.Steps)
		}
		c.Steps = append(c.Steps, s)
	}
	return c
}
