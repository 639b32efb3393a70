package eval

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"echosieve/cmd/echosieve-lab/internal/eval/report"
	"echosieve/internal/build"
	"echosieve/internal/command"
)

// output shows what an eval command found: as a page if --html is given, and on standard output.
type output[T any] struct {
	html   string
	asJSON *bool
	page   func(io.Writer, report.About, T) error
	tables func(io.Writer, T) error
}

// newOutput adds the flags; pageHas says what the page holds.
func newOutput[T any](
	cmd *cobra.Command, pageHas string, page func(io.Writer, report.About, T) error, tables func(io.Writer, T) error,
) *output[T] {
	o := &output[T]{asJSON: command.AddJSONFlag(cmd), page: page, tables: tables}
	cmd.Flags().StringVar(&o.html, "html", "", "write a report with "+pageHas+" to this file")
	return o
}

// validate finds out before the work whether the page can be written where it shall be.
func (o *output[T]) validate() error {
	if o.html == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(o.html)); err != nil || !info.IsDir() {
		return fmt.Errorf("--html: there is no directory %s; make it, or name another file", filepath.Dir(o.html))
	}
	if info, err := os.Stat(o.html); err == nil && info.IsDir() {
		return fmt.Errorf("--html: %s is a directory; name a file in it, such as %s", o.html, filepath.Join(o.html, "report.html"))
	}
	return nil
}

// show writes the page before it prints. files are those that were read.
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

// writeReport writes a file as a whole or not at all. What is no plain file, such as /dev/stdout, is written to as it is.
func writeReport(name string, write func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeInto(name, write)
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".echosieve-report-*")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer os.Remove(file.Name()) // of no effect once it is renamed
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
