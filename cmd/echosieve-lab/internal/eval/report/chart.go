package report

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours that people with any colour vision tell apart (Okabe and Ito).
var (
	blue       = color.RGBA{R: 0, G: 114, B: 178, A: 255}
	vermillion = color.RGBA{R: 213, G: 94, B: 0, A: 255}
	green      = color.RGBA{R: 0, G: 158, B: 115, A: 255}
	grey       = color.RGBA{R: 140, G: 140, B: 140, A: 255}
	faint      = color.RGBA{R: 225, G: 225, B: 225, A: 255}
)

// chartWidth is the width for which text sizes are chosen. The page scales charts to the screen: on a
// telephone, text of 10 points is about 10 pixels high.
const chartWidth = 12.5 * vg.Centimeter

// line is a line of a chart.
type line struct {
	name   string
	colour color.RGBA
	points plotter.XYs
	dashed bool
}

// newPlot returns an empty chart with our fonts and a grid.
func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	sans := func(style *text.Style, size vg.Length) {
		style.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	}
	sans(&p.X.Label.TextStyle, 11)
	sans(&p.Y.Label.TextStyle, 11)
	sans(&p.X.Tick.Label, 10)
	sans(&p.Y.Tick.Label, 10)
	p.X.Label.Text, p.Y.Label.Text = visible(x), visible(y)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	p.Add(grid)
	return p
}

// ticks labels the places 0, 1, ... of an axis. It leaves out so many that labels do not overlap.
func ticks(labels []string) plot.ConstantTicks {
	const most = 10
	every := (len(labels) + most - 1) / most
	out := make(plot.ConstantTicks, len(labels))
	for i, text := range labels {
		out[i].Value = float64(i)
		if i%every == 0 {
			out[i].Label = label(text)
		}
	}
	return out
}

// lineChart draws lines of shares, 0 to 1, over an axis with labels at 0, 1, ... A vertical line marks the
// place now; none if now is negative.
func lineChart(x, y string, labels []string, now int, lines ...line) (template.HTML, error) {
	p := newPlot(x, y)
	p.X.Tick.Marker = ticks(labels)
	p.Y.Min, p.Y.Max = 0, 1
	p.Y.Tick.Marker = plot.ConstantTicks{
		{Value: 0, Label: "0"},
		{Value: 0.2, Label: ".2"},
		{Value: 0.4, Label: ".4"},
		{Value: 0.6, Label: ".6"},
		{Value: 0.8, Label: ".8"},
		{Value: 1, Label: "1"},
	}
	if now >= 0 {
		lines = append(lines,
			line{"present setting", grey, plotter.XYs{{X: float64(now), Y: 0}, {X: float64(now), Y: 1}}, true})
	}
	var legend strings.Builder
	for _, l := range lines {
		drawn, err := plotter.NewLine(l.points)
		if err != nil {
			return "", fmt.Errorf("report: chart: %w", err)
		}
		drawn.Color, drawn.Width = l.colour, vg.Points(2)
		mark := "&#9473;"
		if l.dashed {
			drawn.Dashes, drawn.Width = []vg.Length{vg.Points(4), vg.Points(3)}, vg.Points(1.2)
			mark = "&#9476;"
		}
		p.Add(drawn)
		fmt.Fprintf(&legend, `<span><b style="color:#%02x%02x%02x">%s</b> %s</span> `,
			l.colour.R, l.colour.G, l.colour.B, mark, template.HTMLEscapeString(l.name))
	}
	svg, err := render(p, 7.5*vg.Centimeter, x+" and "+y)
	return "<figcaption>" + template.HTML(legend.String()) + "</figcaption>" + svg, err
}

// render draws the chart as an SVG element. Its XML namespaces are left out: HTML does not need them, and so
// a page holds no address.
func render(p *plot.Plot, height vg.Length, about string) (template.HTML, error) {
	canvas := vgsvg.New(chartWidth, height)
	p.Draw(draw.New(canvas))
	var buf bytes.Buffer
	if _, err := canvas.WriteTo(&buf); err != nil {
		return "", fmt.Errorf("report: chart: %w", err)
	}
	_, svg, _ := bytes.Cut(buf.Bytes(), []byte("<svg"))
	_, inner, found := bytes.Cut(svg, []byte(">"))
	if !found {
		return "", fmt.Errorf("report: chart: no SVG element")
	}
	inner = bytes.ReplaceAll(inner, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,sans-serif;"))
	element := fmt.Sprintf(`<svg viewBox="0 0 %.4g %.4g" role="img" aria-label="%s">`,
		chartWidth.Points(), height.Points(), template.HTMLEscapeString(visible(about)))
	return template.HTML(element + string(inner)), nil
}
