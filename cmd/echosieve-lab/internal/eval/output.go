package eval

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/cmd/echosieve-lab/internal/eval/report"
)

// output shows the result of an eval command: on standard output, and with --html as a page.
type output[T any] struct {
	html   string
	asJSON *bool
	report func(result T, onPage bool) report.Report
}

// newOutput adds the flags --json and --html. pageHas says in the help what the page holds.
func newOutput[T any](cmd *cobra.Command, pageHas string, of func(result T, onPage bool) report.Report) *output[T] {
	o := &output[T]{asJSON: command.AddJSONFlag(cmd), report: of}
	cmd.Flags().StringVar(&o.html, "html", "", "write a report with "+pageHas+" to this file")
	return o
}

// validate returns an error if the page could not be written. It is called before the work.
func (o *output[T]) validate() error {
	if o.html == "" {
		return nil
	}
	file, err := os.OpenFile(o.html, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("--html: %w; name a file that can be written, such as report.html", err)
	}
	return file.Close()
}

// show writes the page and then prints. files names the files that were read.
func (o *output[T]) show(out io.Writer, result T, recipeID string, files ...string) error {
	if o.html != "" {
		var page bytes.Buffer
		about := report.About{Recipe: recipeID, Version: command.ThisBuild().Version, Files: files}
		if err := o.report(result, true).Page(&page, about); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if err := os.WriteFile(o.html, page.Bytes(), 0o644); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	if *o.asJSON {
		return command.PrintJSON(out, result)
	}
	return o.report(result, false).Print(out)
}

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
