package report

import (
	"fmt"
	"math"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// bars is a chart of horizontal bars. It is HTML, not a drawing, so that the browser can break long names
// into lines, beside their bars or, on a narrow screen, above them.
type bars struct {
	Title string
	Ticks []tick
	Bars  []bar
}

// tick is a place on an axis with its label, which may be empty. At is its distance from the left end of bars, in percent
// of the length of the axis; of a lineChart, its place in units of the drawing.
type tick struct {
	At   float64
	Text string
}

// bar is a bar with its value behind it. To is its length, in percent of the length of the axis.
type bar struct {
	Name  string
	Class string // a colour in style.css
	To    float64
	Low   float64 // where the interval of the value begins, in percent
	Width float64 // of the interval, in percent; 0 if there is none
	Value string
	Note  string // in small print, such as the number of cases
}

// The colours of bars.
const (
	goodBar    = "good"
	badBar     = "bad"
	neutralBar = "neutral"
	plainBar   = "plain"
)

// shareBars returns a chart of shares from 0 to 1 without bars.
func shareBars(title string) bars {
	chart := bars{Title: title}
	for _, at := range []float64{0, 25, 50, 75, 100} {
		chart.Ticks = append(chart.Ticks, tick{at, fmt.Sprintf("%.3g", at/100)})
	}
	return chart
}

// addShare adds a bar; the interval may be nil.
func (c *bars) addShare(name, class string, share float64, interval *figures.Interval, note string) {
	b := bar{Name: visible(name), Class: class, To: 100 * share, Value: fmt.Sprintf("%.3f", share), Note: note}
	if interval != nil {
		b.Low, b.Width = 100*interval.Low, 100*(interval.High-interval.Low)
	}
	c.Bars = append(c.Bars, b)
}

// peak is the ratio of the largest to the smallest number at which a linear axis would hide the small numbers.
const peak = 50

// countBars returns a chart of numbers. If a peak would hide the small ones, the axis is logarithmic: the
// length of the bar of n is log(1+n), so that the bar of 0 has no length. The bar at the index now is marked;
// none if now is negative.
func countBars(title string, names []string, counts []int, now int) bars {
	least, most := math.MaxInt, 1
	for _, n := range counts {
		most = max(most, n)
		if n > 0 {
			least = min(least, n)
		}
	}
	chart := bars{Title: title}
	place := func(n int) float64 { return 100 * float64(n) / float64(most) }
	ticks := []int{0, most}
	if logarithmic := most/least >= peak; logarithmic {
		chart.Title += " (logarithmic)"
		place = func(n int) float64 { return 100 * math.Log1p(float64(n)) / math.Log1p(float64(most)) }
		ticks = []int{0}
		for n := 1; n <= most; n *= 10 {
			ticks = append(ticks, n)
		}
	}
	for _, n := range ticks {
		chart.Ticks = append(chart.Ticks, tick{place(n), fmt.Sprint(n)})
	}
	for i, n := range counts {
		b := bar{Name: visible(names[i]), Class: plainBar, To: place(n), Value: fmt.Sprint(n)}
		if i == now {
			b.Class, b.Note = badBar, "<- now"
		}
		chart.Bars = append(chart.Bars, b)
	}
	return chart
}
