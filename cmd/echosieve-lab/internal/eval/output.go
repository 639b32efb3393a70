package eval

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/cmd/echosieve-lab/internal/eval/report"
)

// output shows the result of an eval command, on standard output and with --html as a page, and compares its figures with
// the limits that the user sets.
type output[T any] struct {
	cmd     *cobra.Command
	html    string
	asJSON  *bool
	report  func(result T, onPage bool) report.Report
	figures func(result T) []figure
	limits  map[string]*limit // by their flags
}

// figure is a value that a flag may limit.
type figure struct {
	flag, name string
	value      float64
}

type limit struct {
	least      bool // the figure must not be below the limit, else not above it
	most, want float64
}

// newOutput adds the flags --json and --html. pageHas says in the help what the page holds.
func newOutput[T any](cmd *cobra.Command, pageHas string, of func(result T, onPage bool) report.Report,
	figures func(result T) []figure) *output[T] {
	o := &output[T]{cmd: cmd, asJSON: command.AddJSONFlag(cmd), report: of, figures: figures,
		limits: map[string]*limit{}}
	cmd.Flags().StringVar(&o.html, "html", "", "write a report with "+pageHas+" to this file")
	return o
}

// limit adds the flag of a limit between 0 and most.
func (o *output[T]) limit(flag, help string, least bool, most float64) {
	o.limits[flag] = &limit{least: least, most: most}
	o.cmd.Flags().Float64Var(&o.limits[flag].want, flag, 0, help)
}

// validate returns an error for a limit outside its range, and if the page could not be written. It is called before the
// work: otherwise --min-recall 98 would fail after an hour.
func (o *output[T]) validate() error {
	for flag, one := range o.limits {
		if !(one.want >= 0 && one.want <= one.most) {
			return fmt.Errorf("--%s is %g, must be between 0 and %g", flag, one.want, one.most)
		}
	}
	if o.html == "" {
		return nil
	}
	file, err := os.OpenFile(o.html, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("--html: %w; name a file that can be written, such as report.html", err)
	}
	return file.Close()
}

// show writes the page and then prints. files names the files that were read. The error is a *command.AnswerError that
// names every figure beyond its limit, if there is one.
func (o *output[T]) show(result T, recipeID string, files ...string) error {
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
	var err error
	if out := o.cmd.OutOrStdout(); *o.asJSON {
		err = command.PrintJSON(out, result)
	} else {
		err = o.report(result, false).Print(out)
	}
	if err != nil {
		return err
	}
	var broken []string
	for _, f := range o.figures(result) {
		switch one := o.limits[f.flag]; {
		case !o.cmd.Flags().Changed(f.flag):
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
