package compare

import (
	"fmt"
	"strings"

	"echosieve/pipeline/evidence"
)

// Figure is a measure by which the rule decides, beside its limit.
type Figure struct {
	Name     string   `json:"name"`
	Value    string   `json:"value"`
	Limit    string   `json:"limit"`
	Settings []string `json:"settings,omitempty"` // that hold the limit; none: it is part of the recipe
}

// figures lists the measures of the rule. Without signatures there is the distance only.
func (c *Comparison) figures(rule *evidence.Rule) []Figure {
	list := []Figure{{"bits that differ", fmt.Sprint(c.Distance), fmt.Sprintf("at most %d", c.MaxDistance), []string{"detection.max_distance"}}}
	for _, f := range rule.Figures(c.Distance, c.compared) {
		list = append(list, newFigure(f))
	}
	return list
}

func newFigure(f evidence.Figure) Figure {
	figure := Figure{Name: f.Name, Value: f.Value, Limit: f.Limit}
	if f.Setting != "" {
		figure.Settings = []string{f.Setting}
	}
	return figure
}

// String returns the figure as it stands in a sentence.
func (f Figure) String() string {
	s := fmt.Sprintf("%s: %s, %s", f.Name, f.Value, f.Limit)
	if len(f.Settings) > 0 {
		s += " (" + f.Setting() + ")"
	}
	return s
}

// Setting names the settings of a figure's limit in one word.
func (f Figure) Setting() string { return strings.Join(f.Settings, " ") }
