package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"echosieve/cmd/echosieve/internal/eval"
	"echosieve/pipeline"
)

// maxEvalLine bounds a line of a file that is evaluated, in bytes.
const maxEvalLine = 64 << 20

func newEvalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "eval",
		GroupID: groupTry,
		Short:   "Measure on labelled articles how well copies are told from look-alikes",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(newEvalPairsCommand())
	return cmd
}

func newEvalPairsCommand() *cobra.Command {
	var docs, pairs, ignore string
	var minRecall, maxFPR float64
	cmd := &cobra.Command{
		Use:   "pairs --docs FILE --pairs FILE",
		Short: "Judge labelled pairs: recall, precision, false alarms, by kind and by distance",
		Long: `Pairs judges pairs of articles as the service would and compares with their labels. It prints recall, precision, F1,
the false-positive rate on hard negatives, the share flagged of each kind of pair, what the look-up by blocks finds
at all, and the same for a plain limit on the Hamming distance at every k from 0 to 32 bits.

Articles are JSON Lines read as the service reads them (input.fields.*); pairs are tab-separated lines "id_a id_b label
kind" with a header line, label 1 for a copy, 0 for a look-alike that is none, -1 for a partial copy, which counts only
in the row of its kind. Pairs in the ignore file (id_a, id_b) do not count at all. Files may be .gz or .zst.`,
		Example: `  echosieve eval pairs --docs articles.jsonl.gz --pairs pairs.tsv
  echosieve eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --detection.max_distance 5 --min-recall 0.6 --max-fpr 0.04`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&docs, "docs", "", "articles, JSON Lines")
	cmd.Flags().StringVar(&pairs, "pairs", "", "labelled pairs, tab-separated")
	cmd.Flags().StringVar(&ignore, "ignore", "", "pairs that do not count")
	cmd.Flags().Float64Var(&minRecall, "min-recall", 0, "exit with 1 if recall is below")
	cmd.Flags().Float64Var(&maxFPR, "max-fpr", 1, "exit with 1 if the false-positive rate is above")
	asJSON := addJSONFlag(cmd)
	addConfigFlags(cmd)
	for _, required := range []string{"docs", "pairs"} {
		_ = cmd.MarkFlagRequired(required) // fails only for a flag that does not exist
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := loadConfig(cmd)
		if err != nil {
			return err
		}
		labelled, err := readPairs(pairs, true)
		if err != nil {
			return err
		}
		var ignored []eval.Pair
		if ignore != "" {
			if ignored, err = readPairs(ignore, false); err != nil {
				return err
			}
		}
		articles, err := fingerprintFile(cfg, docs, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		result, err := eval.Pairs(articles, labelled, ignored, eval.ByRecipe(cfg.index("recipe").Search))
		if err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(cmd.OutOrStdout(), result)
		} else {
			err = printPairs(cmd.OutOrStdout(), result)
		}
		switch {
		case err != nil:
			return err
		case result.Recall < minRecall:
			return &answerError{fmt.Sprintf("recall %.4f is below %g", result.Recall, minRecall)}
		case result.FalsePositiveRate > maxFPR:
			return &answerError{fmt.Sprintf("false-positive rate %.4f is above %g", result.FalsePositiveRate, maxFPR)}
		}
		return nil
	}
	return cmd
}

// eachLine calls f with every line of a file that is not blank.
func eachLine(name string, f func(line []byte) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines, err := newLineReader(file, maxEvalLine)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer lines.Close()
	for {
		line, number, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(line)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
}

func readPairs(name string, labelled bool) ([]eval.Pair, error) {
	var pairs []eval.Pair
	err := eachLine(name, func(line []byte) error {
		p, header, err := eval.ParsePair(string(line), labelled)
		if err == nil && !header {
			pairs = append(pairs, p)
		}
		return err
	})
	return pairs, err
}

// fingerprintFile makes the fingerprints of all articles in a file, on all cores, by article id.
func fingerprintFile(cfg Config, name string, progress io.Writer) (map[string]pipeline.Article, error) {
	recipe, err := pipeline.LoadRecipe(cfg.recipe())
	if err != nil {
		return nil, err
	}
	articles := map[string]pipeline.Article{}
	var mu sync.Mutex
	var workers sync.WaitGroup
	docs := make(chan pipeline.Document)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for doc := range docs {
				a, _ := recipe.Fingerprint(doc.Text)
				mu.Lock()
				articles[doc.ID] = a
				if len(articles)%2000 == 0 {
					fmt.Fprintf(progress, "%d articles\n", len(articles))
				}
				mu.Unlock()
			}
		})
	}
	err = eachLine(name, func(line []byte) error {
		doc, reject := cfg.Input.Decode(&pipeline.Record{Value: line})
		if reject != nil {
			return reject
		}
		docs <- doc
		return nil
	})
	close(docs)
	workers.Wait()
	return articles, err
}

func printPairs(w io.Writer, r eval.PairsResult) error {
	kinds := newTable("kind", "label", "pairs", "flagged", "share")
	for _, name := range slices.Sorted(maps.Keys(r.Kinds)) {
		k := r.Kinds[name]
		kinds.AppendRow(table.Row{name, k.Label, k.N, k.Flagged, share(float64(k.Flagged) / float64(k.N))})
	}
	distances := newTable("distance", "recall", "precision", "false positives")
	for _, d := range r.Distance {
		distances.AppendRow(table.Row{d.K, share(d.Recall), share(d.Precision), share(d.FalsePositiveRate)})
	}
	_, err := fmt.Fprintf(w, "%d articles, %d pairs\nrecall %.4f, precision %.4f, F1 %.4f, false positives %.4f, found by blocks %.4f\n\n%s\n\n%s\n",
		r.Docs, r.Pairs, r.Recall, r.Precision, r.F1, r.FalsePositiveRate, r.CandidateRecall, kinds.Render(), distances.Render())
	return err
}

func newTable(columns ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(columns)
	return t
}

func share(x float64) string { return fmt.Sprintf("%.4f", x) }
