package eval

import (
	"bytes"
	"fmt"
	"io"
	"os"

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
