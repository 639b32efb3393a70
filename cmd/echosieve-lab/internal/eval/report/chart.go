package report

import (
	"fmt"
	"strings"
)

// Colours that people with any colour vision tell apart (Okabe and Ito).
const (
	blue       = "#0072b2"
	vermillion = "#d55e00"
	green      = "#009e73"
)

// The ends of the axes of a chart. The drawing is 480 wide and 280 high; the page scales it to the screen.
const (
	left, right = 50, 470
	top, bottom = 10, 236
)

// lineChart shows lines of shares, 0 to 1, over the places 0, 1, ... of an axis. parts.html draws it as SVG.
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

// point is a place on the x axis with a share.
type point struct{ x, share float64 }

// newLineChart returns a chart without lines. It leaves out so many labels of the x axis that they do not overlap.
func newLineChart(x, y string, labels []string) *lineChart {
	const most = 10
	c := &lineChart{X: visible(x), Y: visible(y), last: len(labels) - 1}
	every := (len(labels) + most - 1) / most
	for i, text := range labels {
		t := tick{At: c.x(float64(i))}
		if i%every == 0 {
			t.Text = label(text)
		}
		c.XTicks = append(c.XTicks, t)
	}
	for _, text := range []string{"0", ".2", ".4", ".6", ".8", "1"} {
		c.YTicks = append(c.YTicks, tick{height(float64(len(c.YTicks)) / 5), text})
	}
	return c
}

func (c *lineChart) x(place float64) float64 { return left + (right-left)*place/float64(c.last) }

func height(share float64) float64 { return bottom - (bottom-top)*share }

func (c *lineChart) add(name, colour string, dashed bool, points ...point) {
	var path strings.Builder
	for i, p := range points {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], c.x(p.x), height(p.share))
	}
	c.Lines = append(c.Lines, line{name, colour, dashed, path.String()})
}
