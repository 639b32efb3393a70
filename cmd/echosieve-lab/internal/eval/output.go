package eval

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"echosieve/app/build"
	"echosieve/app/command"
	"echosieve/cmd/echosieve-lab/internal/eval/report"
)

// output shows the result of an eval command: on standard output, and with --html as a page.
type output[T any] struct {
	html   string
	asJSON *bool
	page   func(io.Writer, report.About, T) error
	tables func(io.Writer, T) error
}

// newOutput adds the flags --json and --html. pageHas says in the help what the page holds.
func newOutput[T any](
	cmd *cobra.Command, pageHas string, page func(io.Writer, report.About, T) error, tables func(io.Writer, T) error,
) *output[T] {
	o := &output[T]{asJSON: command.AddJSONFlag(cmd), page: page, tables: tables}
	cmd.Flags().StringVar(&o.html, "html", "", "write a report with "+pageHas+" to this file")
	return o
}

// validate returns an error if the page could not be written. It is called before the work.
func (o *output[T]) validate() error {
	if o.html == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(o.html)); err != nil || !info.IsDir() {
		return fmt.Errorf("--html: there is no directory %s; make it, or name another file", filepath.Dir(o.html))
	}
	if info, err := os.Stat(o.html); err == nil && info.IsDir() {
		return fmt.Errorf("--html: %s is a directory; name a file in it, such as %s", o.html,
			filepath.Join(o.html, "report.html"))
	}
	return nil
}

// show writes the page and then prints. files names the files that were read.
func (o *output[T]) show(out io.Writer, result T, recipeID string, files ...string) error {
	if o.html != "" {
		about := report.About{Recipe: recipeID, Version: build.Version(), Files: files}
		if err := writeReport(o.html, func(w io.Writer) error { return o.page(w, about, result) }); err != nil {
			return err
		}
	}
	if *o.asJSON {
		return command.PrintJSON(out, result)
	}
	return o.tables(out, result)
}

// writeReport writes a file completely or not at all. Only a device or a pipe, such as /dev/stdout, is
// written to directly.
func writeReport(name string, write func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeInto(name, write)
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".echosieve-report-*")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer os.Remove(file.Name()) // fails, with no harm, after the file was renamed
	err = errors.Join(write(file), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("report %s: %w", name, err)
	}
	return nil
}

func writeInto(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err == nil {
		err = errors.Join(write(file), file.Close())
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
