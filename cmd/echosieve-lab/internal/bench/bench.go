// Package bench is the command bench: CPU time per article of each stage.
package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/produce"
	"echosieve/cmd/echosieve-lab/gojieba"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/sample"
)

// result is the output of the command. Times are microseconds of CPU time per article: medians of the rounds.
type result struct {
	Articles int `json:"articles"`
	Bytes    int `json:"mean_text_bytes"`
	Rounds   int `json:"rounds"`
	// of gojieba; absent in a program that was built without it
	Cut    float64            `json:"bare_cut_us,omitempty"`
	Stages map[string]float64 `json:"stages_us"`
	Whole  float64            `json:"whole_us"`
	Ratio  float64            `json:"whole_to_cut,omitempty"` // median of the rounds' ratios
}

// stages are in the order in which an article passes them. Claim is the index and everything that is in no other stage.
var stages = []pipeline.Stage{
	pipeline.StageDecode, pipeline.StageClean, pipeline.StageSegment, pipeline.StageFingerprint, pipeline.StageClaim,
}

// Command returns the command bench.
func Command() *cobra.Command {
	var rounds, limit int
	cmd := &cobra.Command{
		Use:   "bench [FILE...]",
		Short: "Measure CPU time per article of each stage, beside a bare gojieba Cut",
		Long: `Bench sends articles through decode, clean, segment, fingerprint and index and prints the CPU time
of this process per article for each stage, and for comparison that of a bare gojieba.Cut over the
same texts in the same run. Files are read as produce reads them; without a file the shipped sample
is used. A file without an article is an error. gojieba is C++: a program that was built without cgo
leaves the bare Cut out.

The index is in this process. Machines are noisy: compare the ratio rather than the times, and
take the median of several rounds.`,
		Example: `  echosieve-lab bench articles.jsonl.gz`,
	}
	cmd.AddCommand(scaleCommand())
	cmd.Flags().IntVar(&rounds, "rounds", 5, "rounds to take the median of")
	cmd.Flags().IntVar(&limit, "limit", 4000, "articles to use at most")
	asJSON := command.AddJSONFlag(cmd)
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, names []string) error {
		if rounds < 1 || limit < 1 {
			return errors.New("--rounds and --limit must be at least 1")
		}
		in, err := read(cmd, cfg, names, limit)
		if err != nil {
			return err
		}
		r, err := in.measure(cmd.Context(), rounds, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		return command.Print(cmd, *asJSON, r, r.text)
	})
}

// input is what a measurement is made with.
type input struct {
	cfg     config.Config
	recipe  *recipe.Recipe
	records []record.Record
}

// read makes the records of the files that produce would publish; without files it repeats the sample. Records without an
// article are kept, because the service spends time on them, too. If no record has an article, that is an error.
func read(cmd *cobra.Command, cfg config.Config, names []string, limit int) (in *input, err error) {
	cfg.Input.Config = cfg.Input.AsJSON()
	in = &input{cfg: cfg}
	if in.recipe, err = cfg.LoadRecipe(); err != nil {
		return nil, err
	}
	var usable bool
	var first string // fault of the first record that has no article
	add := func(rec record.Record) bool {
		rec.Coordinates, rec.Time = article.Coordinates{Topic: "bench", Offset: int64(len(in.records))}, time.Now()
		if !usable {
			var fault string
			if usable, fault = in.isArticle(&rec); first == "" {
				first = fault
			}
		}
		in.records = append(in.records, rec)
		return len(in.records) < limit
	}
	if len(names) > 0 {
		lines := produce.NewLines(cfg, files.NewProgress(cmd.ErrOrStderr(), -1, "", nil))
		for rec, err := range lines.Records(cmd.Context(), names, cmd.InOrStdin()) {
			if err != nil {
				return nil, err
			}
			if !add(rec) {
				break
			}
		}
	}
	for len(names) == 0 && len(in.records) < min(limit, 2000) {
		for line := range sample.Lines() {
			if !add(record.Record{Value: line}) {
				break
			}
		}
	}
	if !usable {
		return nil, files.NoArticle(names, cfg.Input.Config, first)
	}
	return in, nil
}

// isArticle tells whether the service would give the record a verdict. If not, fault is the reason.
func (in *input) isArticle(r *record.Record) (ok bool, fault string) {
	content, reject := in.cfg.Input.Decode(r)
	if reject != nil {
		return false, reject.Error()
	}
	if a, _ := in.recipe.Fingerprint(content.Text, content.Origin(r.Time)); a.Empty {
		return false, string(record.EmptyText)
	}
	return true, ""
}

// text is the result as a table.
func (r *result) text() string {
	t := command.NewTable("stage", "CPU us per article", "of bare Cut")
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, Align: text.AlignRight}, {Number: 3, Align: text.AlignRight}})
	row := func(name string, us float64) {
		ofCut := "-"
		if r.Cut > 0 {
			ofCut = fmt.Sprintf("%.2f", us/r.Cut)
		}
		t.AppendRow(table.Row{name, fmt.Sprintf("%.1f", us), ofCut})
	}
	for _, stage := range stages {
		row(string(stage), r.Stages[string(stage)])
	}
	row("whole", r.Whole)
	last := "no bare Cut: " + gojieba.ErrMissing.Error()
	if r.Cut > 0 {
		row("bare Cut", r.Cut)
		last = fmt.Sprintf("whole / bare Cut %.2f", r.Ratio)
	}
	return t.Render() + "\n" + command.Fit(fmt.Sprintf("%d articles of %d bytes, median of %d rounds; %s\n",
		r.Articles, r.Bytes, r.Rounds, last))
}
