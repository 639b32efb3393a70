package figures

import (
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"echosieve/pipeline/article"
)

// Step is what one value of a setting gives.
type Step struct {
	Value  float64 `json:"value"`
	Recall float64 `json:"recall"`
	Wrong  float64 `json:"wrong_share"` // of the look-alikes and versions, or of the originals, those that are dropped
	Missed int     `json:"missed"`      // copies that are not recognised
	Drops  int     `json:"wrong_drops"` // look-alikes and versions, or originals, that are dropped
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

// Tally counts verdicts with one value of a setting. Others are originals, or look-alikes and versions.
type Tally struct{ Copies, Missed, Others, Drops int }

// NewCurve counts with each value of a setting between 0 and 1, on all cores. at returns nil for a value that the
// service would refuse, and if there is nothing to count.
func NewCurve(setting string, present float64, at func(value float64) (*Tally, error)) (Curve, error) {
	var steps [2*stepsAside + 1]*Step
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i := range steps {
		value := present
		if i != stepsAside {
			value = math.Round(1000*(present+float64(i-stepsAside)*stepWidth)) / 1000
		}
		if value < 0 || value > 1 {
			continue
		}
		workers.Go(func() error {
			t, err := at(value)
			if t != nil {
				steps[i] = &Step{value, ratio(t.Copies-t.Missed, t.Copies), ratio(t.Drops, t.Others), t.Missed, t.Drops}
			}
			return err
		})
	}
	err := workers.Wait()
	c := Curve{Setting: setting}
	for i, s := range steps {
		if i == stepsAside {
			c.Present = len(c.Steps)
		}
		if s != nil {
			c.Steps = append(c.Steps, *s)
		}
	}
	return c, err
}

// TallyPairs judges pairs. Ignored, debatable and unknown pairs do not count; nil: there is no other pair.
func TallyPairs(articles map[string]article.Article, pairs, ignore []Pair, judge Judge) *Tally {
	var t Tally
	list, _, _ := judgeAll(articles, pairs, ignore, judge)
	for _, p := range list {
		switch p.Label {
		case Partial:
		case Copy:
			t.Copies++
			if !p.Flagged {
				t.Missed++
			}
		default:
			t.Others++
			if p.Flagged && !p.Published {
				t.Drops++
			}
		}
	}
	if t.Copies+t.Others == 0 {
		return nil
	}
	return &t
}
