package eval

import (
	"fmt"
	"strings"

	"echosieve/app/command"

	"github.com/spf13/cobra"
)

// gates are the limits that the user sets on figures.
type gates struct {
	cmd  *cobra.Command
	list []*gate
}

type gate struct {
	flag       string
	least      bool
	most, want float64
}

// add adds the flag of a limit between 0 and most. With least, the figure must not be below the limit, else
// not above it.
func (g *gates) add(flag, help string, least bool, most float64) {
	one := &gate{flag: flag, least: least, most: most}
	g.cmd.Flags().Float64Var(&one.want, flag, 0, help)
	g.list = append(g.list, one)
}

// validate returns an error for a limit outside its range. It is called before the work: otherwise
// --min-recall 98 would fail after an hour.
func (g *gates) validate() error {
	for _, one := range g.list {
		if g.cmd.Flags().Changed(one.flag) && !(one.want >= 0 && one.want <= one.most) {
			return fmt.Errorf("--%s is %g, must be between 0 and %g", one.flag, one.want, one.most)
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
		for _, one := range g.list {
			if one.flag != f.flag || !g.cmd.Flags().Changed(one.flag) {
				continue
			}
			if one.least && !(f.value >= one.want) {
				broken = append(broken, fmt.Sprintf("%s %.4g is below %g", f.name, f.value, one.want))
			}
			if !one.least && !(f.value <= one.want) {
				broken = append(broken, fmt.Sprintf("%s %.4g is above %g", f.name, f.value, one.want))
			}
		}
	}
	if broken == nil {
		return nil
	}
	return &command.AnswerError{Text: strings.Join(broken, "; ")}
}
