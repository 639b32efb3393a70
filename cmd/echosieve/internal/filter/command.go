// Package filter is the command filter: verdicts on the articles of files, without Kafka and Redis.
package filter

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/visible"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/stories"
)

const help = `Filter writes each article of the files with its verdict: one line of JSON an article, in the order of the
files, the object as it came with a last member "echosieve". It needs no Kafka, no Redis and no settings, and gives the
verdicts that the service gives to the same articles in the same order.

It reads what produce reads: JSON Lines, JSON lists, JSON over several lines, CSV and TSV with a header,
and WARC, plain, .gz or .zst. "-", or no file, means standard input.

  verdict         unique, possible, near, exact, or dead: no article can be made of it, see reason and detail
  topic           where the service would publish it: unique, duplicate, dead, or with kafka.topics.possible possible
  original, root  the article that it repeats, and the first of the chain: id and record, which is FILE/RUN/NUMBER
  relation, similarity, contained, contains, distance, reason
                  what it has in common with the original, as in docs/output.md

A damaged line gives a line with the verdict dead, and its text as member "value". So nothing is lost: each article is
in one line of one output. Damage in a list or a table ends that file: the error names the place, and the next file is
read. Lines go to standard output, except those with a file of their own.

With --stories, one line of JSON for each story follows at the end, the largest first: an article with all that repeat
it, who carried it, who was first and which copy to show (docs/stories.md). Only the articles of this run count.

With --html, a page shows each article that was dropped, or marked as possible, beside its original: the weakest 2,000
first. Keys mark drops as right or wrong; it saves marks.tsv, which --from and echosieve-lab eval pairs read. While it
runs, the articles are kept in a temporary file. --release and --from make an article unique that was dropped before.

With --state, later runs know the articles of this one. A run that was interrupted or killed is repeated: until a run
has read all of its files, the same line of the same file gets the same verdict again. A file is known by its first
article, whatever its name is. After a whole run, an article that comes again is a copy, in the same file as in others.
Copy the folder only while no run uses it. Another recipe or window needs another folder.

An article is compared with those of --window before it, by its own time (--time-field). An article without one has the
time of the article before it. So in files without times every article is compared with all before it.

Exit codes: 0 done; 1 done, but some lines are dead; 2 failed or interrupted, a file ended before its end, or has no
article.`

// Command returns the command filter.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "filter [FILE...]",
		Short: "Write the articles of files with their verdicts; needs no server",
		Long:  help,
		Example: `  echosieve filter articles.jsonl > judged.jsonl
  zcat dump.json.gz | echosieve filter --only unique > new.jsonl
  echosieve filter --state seen --only unique today.jsonl > new.jsonl
  echosieve filter --stories stories.jsonl articles.jsonl > judged.jsonl
  echosieve filter --html drops.html articles.jsonl > judged.jsonl
  echosieve filter --unique new.jsonl --duplicate copies.jsonl --dead broken.jsonl 2026-*.csv`,
	}
	only := cmd.Flags().StringSlice("only", nil, "write only these topics: unique, duplicate, dead, and possible, "+
		"which is a part of unique unless kafka.topics.possible is set")
	lines := cmd.Flags().Bool("lines", false, "each line is one article and gets its line at once; for programs "+
		"that wait for the verdict before they write the next article")
	var p paths
	cmd.Flags().StringVar(&p.unique, "unique", "",
		"`file` for the topics unique and possible, in place of standard output")
	cmd.Flags().StringVar(&p.duplicate, "duplicate", "", "`file` for the topic duplicate")
	cmd.Flags().StringVar(&p.dead, "dead", "", "`file` for the topic dead")
	cmd.Flags().StringVar(&p.stories, "stories", "", "`file` for the stories, one line each; - is standard output")
	cmd.Flags().StringVar(&p.drops, "html", "", "`file` for a page of the dropped articles beside their originals")
	released := cmd.Flags().StringSlice("release", nil, "take the drop of these articles back, by id or record")
	marks := cmd.Flags().String("from", "", "`file` of marks: release what is marked as wrong")
	owners := cmd.Flags().String("owners", "",
		"`file` with the owners of publishers that count as one, as in docs/stories.md")
	folder := cmd.Flags().String("state", "", "`folder` that keeps the articles of this run for the next one")
	headersOnly := cmd.Flags().Bool("headers-only", false, "write only id and verdict of each article")
	times := cmd.Flags().StringSlice("time-field", decode.DefaultTimes,
		"members that hold the time of an article, the best first")
	unquoted := command.AddUnquotedFlag(cmd)
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, names []string) error {
		wanted, err := wantedTopics(*only, cfg.Kafka.Topics.Possible != "")
		if err != nil {
			return err
		}
		if names, err = files.Named(names, cmd.InOrStdin()); err != nil {
			return err
		}
		if *folder == "" && cmd.Flags().Changed("state") { // such as "$DIR", which is not set
			return errors.New("--state is empty: name a folder")
		}
		r, err := newFiltering(cfg, *folder)
		if err != nil {
			return err
		}
		defer r.index.Close()
		in := &r.input.Reader
		in.Names, in.Stdin, in.Columns, in.Lines, in.Unquoted = names, cmd.InOrStdin(), *times, *lines, *unquoted
		r.output.headersOnly, r.output.wanted = *headersOnly, wanted
		if r.input.released, err = readReleases(*released, *marks); err != nil {
			return err
		}
		if p.stories != "" {
			rules := &stories.Rules{Window: cfg.Window}
			if rules.Owners, err = stories.Owners(*owners); err != nil {
				return fmt.Errorf("--owners: %w", err)
			}
			r.output.stories, r.output.decode.FindPublished = stories.NewFold(rules), true
		}
		return r.execute(cmd, p, *folder != "")
	}, "window", "recipe", "detection", "policy", "input")
}

// wantedTopics returns the topics of --only; without names all of them.
func wantedTopics(names []string, possible bool) (wanted [article.DestinationCount]bool, err error) {
	all := append(article.VerdictDestinations(), article.ToDead)
	for _, name := range names {
		i := slices.IndexFunc(all, func(d article.Destination) bool { return d.String() == name })
		if i < 0 {
			return wanted, fmt.Errorf(
				"--only has %q, which is no topic: name some of unique, possible, duplicate, dead", name)
		}
		wanted[all[i]] = true
	}
	if !possible && wanted[article.ToPossible] && !wanted[article.ToUnique] {
		return wanted, errors.New("--only possible: without kafka.topics.possible no article is in this topic, and unique " +
			"holds the possible ones: name unique, or set ECHOSIEVE_KAFKA_TOPICS_POSSIBLE to any name")
	}
	for _, d := range all {
		wanted[d] = wanted[d] || len(names) == 0
	}
	return wanted, nil
}

func (r *filtering) execute(cmd *cobra.Command, p paths, keep bool) (err error) {
	errOut, begun := cmd.ErrOrStderr(), time.Now()
	if keep {
		r.input.runs = &runs{index: r.index, learnt: r.learnt, now: begun, seen: map[string]int{},
			copies: map[article.Coordinates]int64{}}
	} else {
		r.input.began = begun
	}
	if err := r.output.open(cmd.OutOrStdout(), p, r.input.Names); err != nil {
		return err
	}
	var page *os.File
	if p.drops != "" {
		if r.dropped, err = newDropped(r.judge, r.input.Input); err != nil {
			return err
		}
		defer r.dropped.close()
		if page, err = r.output.create(p.drops, r.input.Names); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
		if err := page.Truncate(0); err != nil {
			return err
		}
	}
	size := files.Size(r.input.Names)
	stop := func() {}
	if !files.OnTerminal(cmd.OutOrStdout()) { // else it would stand between the lines
		stop = files.ShowLine(errOut, func(elapsed time.Duration) string { return r.progress(elapsed, size) })
	}
	err = r.filter(cmd.Context())
	stop()
	if err == nil {
		err = r.output.writeStories()
	}
	if err == nil && page != nil {
		err = r.dropped.write(page, r.input.Names)
	}
	if err = errors.Join(err, r.output.close(err == nil)); errors.Is(err, syscall.EPIPE) {
		return nil // nobody reads any more, as behind head
	}
	if err == nil && keep {
		err = r.input.runs.end(errOut)
	}
	if errors.As(err, new(*files.NoArticleError)) && r.counts.total() == 0 {
		return err
	}
	r.summarise(errOut, time.Since(begun))
	if dead := r.counts.topics[article.ToDead].Load(); err == nil && dead > 0 {
		err = &command.AnswerError{Text: visible.Count(dead, "dead line") + ": see reason and detail there"}
	}
	return err
}
