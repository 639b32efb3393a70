package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"echosieve/cmd/echosieve/internal/eval"
)

const evalHelp = `Eval measures the filter on articles of your own, so that its settings need not be taken on trust.

  pairs       for labelled pairs: recall, precision, false alarms, by kind of pair and by Hamming distance
  stream      for a labelled stream in time order: copies caught and originals dropped, by the whole service
              without Kafka
  threshold   without labels: how many articles each limit would flag, and sampled pairs near the border side by
              side, to choose a limit by reading them

Every setting of the service (--detection.*, --recipe, --window, --input.fields.*) can be given to each of them, or
a file with --config: measure the settings that you run, then the ones that you consider.

A miss costs a reader a repeated article; a false alarm costs an article that nobody will see. The second is worse:
begin with false alarms and dropped originals, then raise recall as far as they allow.

Articles are JSON Lines, plain, .gz or .zst, read as the service reads them. Figures go to standard output, as JSON
with --json; --html writes a report with charts into one file that loads nothing from anywhere. Limits such as
--min-recall make the exit code 1 when they are not kept, for use in continuous integration.`

const evalExample = `  echosieve eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --html report.html
  echosieve eval stream --docs stream.jsonl.gz --min-caught 0.9 --max-dropped 0
  echosieve eval threshold --docs articles.jsonl.gz --html look.html`

func newEvalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "eval",
		GroupID: groupTry,
		Short:   "Measure on your own articles how well copies are told from look-alikes",
		Long:    evalHelp,
		Example: evalExample,
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(newEvalPairsCommand(), newEvalStreamCommand(), newEvalThresholdCommand())
	return cmd
}

// newJudge is the rule by which the service tells two articles from copies. It is chosen nowhere else in eval.
func newJudge(cfg Config) eval.Judge { return eval.ByRecipe(cfg.recipe().Search()) }

// newScale is the setting that eval threshold helps to choose, and the place in it of the current value.
func newScale(cfg Config) (scale eval.Scale, current int) {
	return eval.DistanceScale(), cfg.Detection.MaxDistance
}

// evalTopic is the topic that articles of a file are taken to come from; their place in the file is the offset.
const evalTopic = "eval"

// maxEvalLine bounds a line of a file that is evaluated, in bytes.
const maxEvalLine = 64 << 20

// evalReader reads the files of an evaluation and shows how far it has come.
type evalReader struct {
	articles atomic.Int64 // finished
	progress *progress
	stop     func()
}

// newEvalReader starts the progress over the file; the caller calls finish.
func newEvalReader(cmd *cobra.Command, file string) *evalReader {
	r := &evalReader{}
	r.progress = newProgress(cmd.ErrOrStderr(), sizeOf([]string{file}), r.articles.Load)
	r.progress.verb = "evaluated"
	r.stop = r.progress.start()
	return r
}

// each calls f with every line of a file that is not blank, until one fails or the command is interrupted.
func (r *evalReader) each(ctx context.Context, name string, f func(line []byte) error) error {
	return eachLine(ctx, name, r.progress.counting, f)
}

// errEnough ends reading without an error.
var errEnough = errors.New("enough was read")

// eachLine calls f with every line of a file that is not blank, until one fails or ctx ends. The file is read
// through the function through.
func eachLine(ctx context.Context, name string, through func(io.Reader) io.Reader, f func(line []byte) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines, err := newLineReader(through(file), maxEvalLine)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer lines.Close()
	for {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("interrupted: %w", err)
		}
		line, number, err := lines.next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err == nil {
			err = f(line)
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
}

// finish ends the progress and tells of articles without a verdict.
func (r *evalReader) finish(errOut io.Writer) {
	r.stop()
	if dead := r.progress.bad.Load(); dead > 0 {
		fmt.Fprintf(errOut, "%d lines hold no article that the service could judge: they would be dead letters\n", dead)
	}
}

// gates are the limits that figures must keep.
type gates struct {
	cmd  *cobra.Command
	list []*gate
}

type gate struct {
	flag       string
	least      bool
	most, want float64
}

// add adds a flag for a limit between 0 and most.
func (g *gates) add(flag, help string, least bool, most float64) {
	one := &gate{flag: flag, least: least, most: most}
	g.cmd.Flags().Float64Var(&one.want, flag, 0, help)
	g.list = append(g.list, one)
}

// validate says which limit makes no sense, so that --min-recall 98 is not found out after an hour.
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

// check returns an answerError that names every figure beyond its limit.
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
	return &answerError{strings.Join(broken, "; ")}
}
