package report

import (
	"fmt"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// bars is a chart of horizontal bars. It is HTML, not a drawing, so that the browser can break long names
// into lines, beside their bars or, on a narrow screen, above them.
type bars struct {
	Title string
	Ticks []tick
	Bars  []bar
}

// tick is a place on an axis with its label, which may be empty. At is its distance from the left end of bars, in
// percent of the length of the axis; of a lineChart, its place in units of the drawing.
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
