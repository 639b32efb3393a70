package eval

import (
	"fmt"
	"strings"

	"echosieve/app/command"

	"github.com/spf13/cobra"
)

// gates are the limits that the user sets on figures, by their flags.
type gates struct {
	cmd  *cobra.Command
	list map[string]*gate
}

type gate struct {
	least      bool // the figure must not be below the limit, else not above it
	most, want float64
}

// add adds the flag of a limit between 0 and most.
func (g *gates) add(flag, help string, least bool, most float64) {
	g.list[flag] = &gate{least: least, most: most}
	g.cmd.Flags().Float64Var(&g.list[flag].want, flag, 0, help)
}

// validate returns an error for a limit outside its range. It is called before the work: otherwise
// --min-recall 98 would fail after an hour.
func (g *gates) validate() error {
	for flag, one := range g.list {
		if !(one.want >= 0 && one.want <= one.most) {
			return fmt.Errorf("--%s is %g, must be between 0 and %g", flag, one.want, one.most)
		}
	}
	return nil
}

// figure is a value that a gate may limit.
type figure struct {
	flag, name string
	value      float64
}

// check returns a *command.AnswerError that names every figure beyond its limit, nil if there is none.
func (g *gates) check(figures ...figure) error {
	var broken []string
	for _, f := range figures {
		switch one := g.list[f.flag]; {
		case !g.cmd.Flags().Changed(f.flag):
		case one.least && !(f.value >= one.want):
			broken = append(broken, fmt.Sprintf("%s %.4g is below %g", f.name, f.value, one.want))
		case !one.least && !(f.value <= one.want):
			broken = append(broken, fmt.Sprintf("%s %.4g is above %g", f.name, f.value, one.want))
		}
	}
	if broken == nil {
		return nil
	}
	return &command.AnswerError{Text: strings.Join(broken, "; ")}
}
