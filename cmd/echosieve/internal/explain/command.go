// Package explain is the command explain: why the service reached its verdict about an article.
package explain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/config/schema"
	"echosieve/app/drops"
	"echosieve/app/inquiry"
	"echosieve/app/sidebyside"
	"echosieve/consumer/learning"
	"echosieve/consumer/tools"
	"echosieve/pipeline/article"
)

const help = `Explain says why the service reached its verdict about an article: the verdict, the article that it
repeats and the chain to the root, each figure of the rule beside its limit, the look-ups that lead from one to the
other, what is new, and both texts side by side with what differs marked. For a unique article it shows the
nearest articles that the index has now, and why the article is no copy of them.

The article is named by the coordinates of its record in an output topic or in the input topic. For a record of the
input topic, explain searches the output topics for its verdict: in the partition to which the input partition goes,
from the record's timestamp on. With --id it searches the output topics of the last hours (--since) for an article with
that id; if several have it, it explains the latest and names the others.

With --html and --since alone it writes a page of what was dropped or marked since then: each article beside its
original, the weakest first, at most 2,000. In the page, keys mark drops as right or wrong; it saves marks.tsv, which
"echosieve release --from" and "echosieve-lab eval pairs --pairs" read.

With --shadow it explains the records of a shadow: with the index of the shadow, and verdicts from the topic of the
shadow. Give it the settings of the shadow (docs/recipe-change.md).

Texts come from Kafka. Of an article that retention has removed, explain shows what the index has. It changes nothing,
needs Read on the topics, and does without Redis if Redis does not answer.

Exit codes: 0 explained; 1 there is no such record, id or verdict; 2 failed.`

// Command returns the command explain.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [TOPIC/PARTITION/OFFSET]",
		Short: "Show why an article got its verdict, beside its original",
		Long:  help,
		Example: `  echosieve explain --config echosieve.yaml articles-duplicate/0/1517
  echosieve explain --config echosieve.yaml articles/2/88231 --html why.html
  echosieve explain --config echosieve.yaml --html drops.html --since 6h
  echosieve explain --config echosieve.yaml --id x44 --since 72h --json
  echosieve explain --shadow --config new.yaml articles-shadow/2/88231`,
	}
	asJSON := command.AddJSONFlag(cmd)
	id := cmd.Flags().String("id", "", "id of the article, instead of coordinates")
	since := schema.DurationFlag(cmd.Flags(), "since", 24*time.Hour,
		"how far back --id searches the output topics, and the page of drops goes")
	page := cmd.Flags().String("html", "", "also write the explanation as a page into this `file`; with --since "+
		"alone a page of all drops")
	whole := cmd.Flags().Bool("whole", false, "show sentences that are the same as well")
	config.AddShadowFlag(cmd.Flags(), "explain records of the shadow, with its topic and its index")
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, args []string) error {
		isPage := len(args) == 0 && *id == "" && *page != "" && cmd.Flags().Changed("since")
		at, err := named(args, *id)
		if err != nil && !isPage {
			return err
		}
		made, err := cfg.LoadRecipe()
		if err != nil {
			return err
		}
		learnt, err := learning.Follow(cmd.Context(), cfg.Kafka, cfg.Window, made)
		if err != nil { // without the right to read them, all else can be told
			fmt.Fprintln(cmd.ErrOrStderr(), "learnt sentences are not known:", err)
		} else if learnt != nil {
			defer learnt.Close()
		}
		e := &explainer{recipe: made.ID(), judge: inquiry.NewJudge(cfg, made),
			reader: inquiry.NewReader(cfg, cmd.ErrOrStderr())}
		defer e.reader.Close()
		if isPage {
			said, err := e.writeDrops(cmd.Context(), cfg.Kafka.Topics.Unique, *page, *since)
			fmt.Fprint(cmd.OutOrStdout(), said)
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), indexTimeout)
		defer cancel()
		if e.index, e.away = inquiry.OpenIndex(ctx, cfg, made); e.away == nil {
			defer e.index.Client().Close()
		}
		var x *explanation
		if *id == "" {
			x, err = e.record(cmd.Context(), at)
		} else {
			x, err = e.byID(cmd.Context(), *id, *since)
		}
		if errors.Is(err, tools.ErrNoRecord) || errors.Is(err, inquiry.ErrNoVerdict) {
			return &command.AnswerError{Text: err.Error()}
		}
		if err != nil {
			return err
		}
		if e.away != nil {
			x.Notes = append(x.Notes, "the index was not asked: "+e.away.Error())
		}
		if *page != "" {
			if err := os.WriteFile(*page, []byte(x.page()), 0o600); err != nil {
				return fmt.Errorf("%w; name a file that can be written after --html", err)
			}
		}
		return command.Print(cmd, *asJSON, x, func() string {
			terminal := sidebyside.TerminalOf(cmd.OutOrStdout())
			terminal.Whole = *whole
			return x.text(terminal)
		})
	}, "kafka", "redis", "window", "recipe", "detection", "input", "shadow")
}

// named returns the coordinates that the command line names. With an id it returns none.
func named(args []string, id string) (at article.Coordinates, err error) {
	switch {
	case len(args) == 0 && id == "", len(args) > 1:
		err = fmt.Errorf("explain wants the coordinates of one record, such as articles-duplicate/0/1517, or --id ID, but "+
			"got %d arguments", len(args))
	case len(args) == 1 && id != "":
		err = errors.New("explain wants coordinates or --id, not both")
	case id == "":
		if at, err = article.ParseCoordinates(args[0]); err != nil {
			err = fmt.Errorf("%w, such as articles-duplicate/0/1517; for an id, type --id %s", err, args[0])
		}
	}
	return at, err
}

// indexTimeout is how long Redis may take until the command goes on without the index.
const indexTimeout = 3 * time.Second

// byID explains the latest article with the id, and names the others.
func (e *explainer) byID(ctx context.Context, id string, since time.Duration) (*explanation, error) {
	latest, others, err := e.reader.ByID(ctx, id, time.Now().Add(-since))
	if err != nil {
		return nil, err
	}
	if latest == nil {
		return nil, &command.AnswerError{Text: fmt.Sprintf("no article with the id %q is in the output topics of the last "+
			"%s; search further back with --since", id, since)}
	}
	x, err := e.output(ctx, latest)
	if err == nil && len(others) > 0 {
		x.Notes = append(x.Notes, "other articles have this id, too: "+strings.Join(others, " "))
	}
	return x, err
}

// writeDrops writes the page of what was dropped or marked in the last hours, and says how much that is. A copy that
// the policy has sent to unique was not dropped.
func (e *explainer) writeDrops(ctx context.Context, unique, file string, since time.Duration) (string, error) {
	var weakest drops.Weakest
	read := 0
	for _, topic := range e.reader.Topics {
		if err := e.reader.Each(ctx, topic, time.Now().Add(-since), func(o *inquiry.Output) error {
			read++
			if o.Reject == nil && (o.Record.Topic != unique || o.Verdict.Kind == article.Possible) {
				weakest.Offer(drops.Drop{Input: o.Input, Time: o.Record.Time, Verdict: o.Verdict, Output: o})
			}
			return nil
		}); err != nil {
			return "", err
		}
	}
	page, err := drops.NewPage(fmt.Sprintf("Dropped articles of the last %s", since), read, &weakest, e.judge,
		func(d *drops.Drop) (earlier, later inquiry.Article, _ error) { // articles that are gone say why
			later, _ = e.reader.ArticleOf(ctx, d.Output)
			earlier, _ = e.reader.Article(ctx, d.Verdict.Original)
			return earlier, later, nil
		})
	if err != nil {
		return "", err
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("%w; name a file that can be written after --html", err)
	}
	if err := errors.Join(page.Write(out), out.Close()); err != nil {
		return "", err
	}
	return page.Lead[0] + "\n", nil
}
