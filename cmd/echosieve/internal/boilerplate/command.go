// Package boilerplate is the command boilerplate: it makes the table of sentences that fingerprints ignore.
package boilerplate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/config/schema"
	"echosieve/app/visible"
	"echosieve/pipeline/page"
)

const help = `Learn counts the sentences under which many different articles of one publisher stand, such as a
disclaimer, and adds them to a table for detection.boilerplate_file. Fingerprints ignore these sentences: articles that
share only boilerplate are no longer alike, and copies of one article on two sites are.

Rows begin to count later (--starts-in), for records with a timestamp from then on. Read the table, delete the rows that
you do not want, and restart all processes with it before the rows begin: then a record meets the same rows whenever
Kafka delivers it. After that, do not change rows, only add some: learn adds the sentences that the table does not have.
To end a row, add it again with a later time and 0 articles. The index stays.

--from is a file, which is read as produce reads it, or @FILE, or "-", or else a topic. Sentences count by the publisher
that an article names (input.fields.publisher). A sentence of three publishers or more counts for all.

Exit codes: 0 done; 1 done, but some lines were bad; 2 failed.`

// summary is the output of --json.
type summary struct {
	Articles   int        `json:"articles"`
	Bad        int        `json:"bad"` // lines or records without an article
	Publishers int        `json:"publishers"`
	Sentences  int        `json:"sentences"` // new rows
	Begin      *time.Time `json:"begin,omitempty"`
	Out        string     `json:"out"`
}

// options are the flags of learn.
type options struct {
	from, out string
	least     int
	share     float64
	startsIn  time.Duration
}

// Command returns the command boilerplate with its command learn.
func Command() *cobra.Command {
	cmd := &cobra.Command{Use: "boilerplate", Short: "Find sentences that publishers put under all their articles"}
	cmd.AddCommand(newLearnCommand())
	return cmd
}

func newLearnCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "learn --from TOPIC|FILE --out FILE",
		Short: "Add the sentences that many different articles of a publisher have to a table",
		Long:  help,
		Example: `  echosieve boilerplate learn --from articles.jsonl.gz --out boilerplate.tsv
  echosieve boilerplate learn --config echosieve.yaml --from articles --out boilerplate.tsv --starts-in 24h`,
		Args: command.NoArgs,
	}
	var o options
	cmd.Flags().StringVar(&o.from, "from", "", "file of articles, or topic")
	cmd.Flags().StringVar(&o.out, "out", "", "table to write, or to add to")
	cmd.Flags().IntVar(&o.least, "least", 10, "different articles of a publisher that have the sentence, 2 to 200")
	cmd.Flags().Float64Var(&o.share, "share", 0.01,
		"share of the articles of a publisher that have the sentence, 0 to 1")
	schema.DurationFlagVar(cmd.Flags(), &o.startsIn, "starts-in", time.Hour,
		"time until new rows count: long enough for review and roll-out")
	asJSON := command.AddJSONFlag(cmd)
	config.AddFlags(cmd.Flags(), "kafka", "input")
	for _, name := range []string{"from", "out"} {
		_ = cmd.MarkFlagRequired(name) // fails only for a flag that does not exist
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.validate(); err != nil {
			return err
		}
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		s, err := learn(cmd, cfg, o)
		if err != nil {
			return err
		}
		if *asJSON {
			err = command.PrintJSON(cmd.OutOrStdout(), s)
		} else {
			err = s.print(cmd.OutOrStdout())
		}
		if err == nil && s.Bad > 0 {
			err = &command.AnswerError{Text: visible.Count(s.Bad, "piece") + " without an article"}
		}
		return err
	}
	return cmd
}

func (o options) validate() error {
	switch {
	case o.least < 2 || o.least > 200:
		return errors.New("--least must be between 2 and 200")
	case o.share < 0 || o.share > 1:
		return errors.New("--share must be between 0 and 1")
	case o.startsIn < time.Minute:
		return errors.New("--starts-in must be at least 1m: all processes must have the table before its rows count")
	}
	return nil
}

// learn reads the articles and adds the rows to the table.
func learn(cmd *cobra.Command, cfg config.Config, o options) (summary, error) {
	table, err := readTable(o.out)
	if err != nil {
		return summary{}, err
	}
	learner := page.NewLearner(o.least, o.share)
	s := summary{Out: o.out}
	if s.Articles, s.Bad, err = readArticles(cmd, cfg, o.from, learner.Add); err != nil {
		return s, err
	}
	sentences := learner.Sentences(table)
	s.Publishers, s.Sentences = learner.Publishers(), len(sentences)
	if len(sentences) == 0 {
		return s, nil
	}
	written := time.Now()
	begin := written.Add(o.startsIn).UTC().Truncate(time.Second)
	s.Begin = &begin
	file, err := os.OpenFile(o.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return s, err
	}
	return s, errors.Join(page.AppendBoilerplate(file, table, written, begin, sentences), file.Close())
}

// readTable reads the table that rows are added to; it is nil if the file does not exist.
func readTable(path string) (*page.Boilerplate, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	table, err := page.ReadBoilerplate(path)
	if err != nil {
		return nil, fmt.Errorf("%w; --out wants a table of echosieve boilerplate learn, or a new file", err)
	}
	return table, nil
}

func (s summary) print(w io.Writer) error {
	articles, publishers := visible.Count(s.Articles, "article"), visible.Count(s.Publishers, "publisher")
	if s.Sentences == 0 {
		_, err := fmt.Fprintf(w,
			"%s of %s: no new sentence was learnt; lower --least or --share, or read more "+
				"articles\n",
			articles, publishers)
		return err
	}
	_, err := fmt.Fprintf(w,
		"%s of %s: %s added to %s; they count for records from %s on\n"+
			"Review the file, set detection.boilerplate_file, and restart all processes before that time.\n",
		articles, publishers, visible.Count(s.Sentences, "sentence"), s.Out, s.Begin.Format(time.RFC3339))
	return err
}
