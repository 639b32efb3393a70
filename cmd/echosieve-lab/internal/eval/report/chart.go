package report

import (
	"fmt"
	"strings"

	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// bars is a chart of horizontal bars for shares, 0 to 1. It is HTML, not a drawing, so that the browser can break long
// names into lines, beside their bars or, on a narrow screen, above them.
type bars struct {
	Title string
	Bars  []bar
}

// tick is a place on an axis of a lineChart, in units of the drawing, with its label.
type tick struct {
	At   float64
	Text string
}

// bar is a bar with its value behind it. To is its length, in percent of the length of the axis.
type bar struct {
	Name  string
	Class string // a colour in style.css: good, bad, neutral or plain
	To    float64
	Low   float64 // where the interval of the value begins, in percent
	Width float64 // of the interval, in percent; 0 if there is none
	Value string
	Note  string // in small print: the number of cases
}

// add adds a bar for a share of so many cases; the interval may be nil.
func (c *bars) add(name, class string, share float64, interval *figures.Interval, cases int) {
	b := bar{Name: visible.Line(name), Class: class, To: 100 * share, Value: fmt.Sprintf("%.3f", share),
		Note: fmt.Sprintf("of %d", cases)}
	if interval != nil {
		b.Low, b.Width = 100*interval.Low, 100*(interval.High-interval.Low)
	}
	c.Bars = append(c.Bars, b)
}

// Colours that people with any colour vision tell apart (Okabe and Ito).
const (
	blue       = "#0072b2"
	vermillion = "#d55e00"
	green      = "#009e73"
)

// The ends of the axes of a chart. The drawing is 490 wide and 280 high; the page scales it to the screen.
const (
	left, right = 50, 470
	top, bottom = 10, 236
)

// lineChart shows lines of shares, 0 to 1, over the places 0, 1, ... of an axis. page.html draws it as SVG.
type lineChart struct {
	X, Y           string // names of the axes
	XTicks, YTicks []tick
	Lines          []line
	last           int // place on the x axis
}

// line is a line of a chart.
type line struct {
	Name, Colour string
	Dashed       bool
	Path         string // the attribute d of an SVG path
}

// newLineChart returns a chart without lines, with the labels of its places, of which there are two or more.
func newLineChart(x, y string, places []string) *lineChart {
	c := &lineChart{X: x, Y: y, last: len(places) - 1}
	for i, text := range places {
		c.XTicks = append(c.XTicks, tick{c.x(i), text})
	}
	for i, text := range []string{"0", ".2", ".4", ".6", ".8", "1"} {
		c.YTicks = append(c.YTicks, tick{height(float64(i) / 5), text})
	}
	return c
}

func (c *lineChart) x(place int) float64 { return left + (right-left)*float64(place)/float64(c.last) }

func height(share float64) float64 { return bottom - (bottom-top)*share }

// mark adds an upright line at a place.
func (c *lineChart) mark(name, colour string, place int) {
	c.Lines = append(c.Lines, line{name, colour, true, fmt.Sprintf("M%.1f %dV%d", c.x(place), top, bottom)})
}

// add adds a line.
func (c *lineChart) add(name, colour string, share func(place int) float64) {
	var path strings.Builder
	for i := range c.last + 1 {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], c.x(i), height(share(i)))
	}
	c.Lines = append(c.Lines, line{name, colour, false, path.String()})
}
