package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/record"
)

// streamEval sends a labelled stream through the pipeline. It keeps id, title, labels and verdict of each article.
type streamEval struct {
	cfg    config.Config
	stages *pipeline.Pipeline
	reader *reader

	batch    []record.Record
	articles []figures.StreamArticle
	verdicts []figures.StreamVerdict
	claimed  []article.Article // those with a verdict, for curves
	places   []int             // of the articles in the file
	skipped  int
	timed    int  // number of calls of time
	timeless bool // the first article has no time
	all      bool // no article is skipped as ambiguous
}

// judgeStream sends the articles of a file through the pipeline, with an index in this process, which starts empty.
// With all, ambiguous ones, too.
func judgeStream(cmd *cobra.Command, cfg config.Config, docs string, all bool) (*streamEval, string, error) {
	recipe, err := cfg.LoadRecipe()
	if err != nil {
		return nil, "", err
	}
	cfg.Input.Config = cfg.Input.AsJSON()
	s := &streamEval{cfg: cfg, all: all}
	s.stages = pipeline.New(pipeline.Config{Decode: cfg.Input.Config, RecordConfig: pipeline.DefaultRecordConfig(),
		MaxMessageBytes: cfg.Kafka.MaxMessageBytes}, recipe, newIndex(cfg), nil)
	ctx := cmd.Context()
	s.reader = newReader(cmd, docs)
	err = s.reader.each(ctx, docs, cfg.Input.Config, func(line []byte) error { return s.add(ctx, line) })
	if err == nil {
		err = s.flush(ctx)
	}
	return s, recipe.ID(), s.reader.finish(cmd.ErrOrStderr(), cfg.Input.Config, err)
}

// newIndex returns an empty index in this process.
func newIndex(cfg config.Config) *memindex.Index {
	layout := cfg.IndexConfig("recipe")
	return memindex.New(memindex.Config{
		Window: cfg.Window, Slices: layout.Slices, Search: layout.Search, Policy: cfg.Policy,
		BlockBits: layout.Plan().Layout.Bits, MaxCandidates: layout.MaxCandidates,
	})
}

// curves judges the stream by other values of the thresholds.
func (s *streamEval) curves(cmd *cobra.Command) ([]figures.Curve, error) {
	var done atomic.Int64
	defer files.ShowLine(cmd.ErrOrStderr(), func(elapsed time.Duration) string {
		return files.Pace(visible.Count(done.Load(), "article")+" judged by other thresholds", done.Load(), elapsed, 0, 0)
	})()
	return curves(s.cfg, func(changed config.Config) (*figures.Tally, error) {
		return s.again(cmd.Context(), changed, &done)
	})
}

// again judges the articles with other thresholds. A verdict changes later ones: the whole stream is claimed anew.
func (s *streamEval) again(ctx context.Context, cfg config.Config, done *atomic.Int64) (*figures.Tally, error) {
	index, verdicts := newIndex(cfg), slices.Clone(s.verdicts)
	for batch := range slices.Chunk(s.claimed, cfg.Kafka.BatchRecords) {
		list, err := index.Claim(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, v := range list {
			verdicts[batch[i].Offset] = streamVerdict(&v)
		}
		done.Add(int64(len(batch)))
	}
	r, err := figures.Stream(s.articles, verdicts)
	return r.Tally(), err
}

// add adds a line of the stream to the batch, and decides the batch if it is full.
func (s *streamEval) add(ctx context.Context, line []byte) error {
	labels := gjson.GetManyBytes(line, "ambig", "ts", "dup_of", "lang", "kind")
	if labels[0].Bool() && !s.all {
		s.skipped++
		return nil
	}
	rec := record.Record{
		Coordinates: article.Coordinates{Topic: fileTopic, Offset: int64(len(s.articles))}, Value: bytes.Clone(line),
	}
	content, reject := s.cfg.Input.Decode(&rec)
	if reject == nil { // otherwise the time does not matter: the record becomes a dead letter
		at, err := s.time(labels[1])
		if err != nil {
			return err
		}
		rec.Time = at
	}
	s.places = append(s.places, len(s.articles)+s.skipped)
	s.articles = append(s.articles, figures.StreamArticle{
		ID: content.ID, Title: beginning(content.Title, longestTitle), DupOf: idLabel(labels[2]),
		Language: labels[3].String(), Kind: labels[4].String(),
		Publisher: article.PublisherOf(content.Publisher, content.URL), Time: rec.Time,
	})
	s.batch = append(s.batch, rec)
	if len(s.batch) < s.cfg.Kafka.BatchRecords {
		return nil
	}
	return s.flush(ctx)
}

// longestTitle is the length to which titles are cut for the lists, in characters.
const longestTitle = 200

func beginning(s string, characters int) string {
	for i := range s {
		if characters == 0 {
			return s[:i]
		}
		characters--
	}
	return s
}

// latestTime, in seconds since 1970, is the year 5138. A larger number is not in seconds.
const latestTime = 1e11

// time returns the time of the next article. It is an error if only some articles have a time: for the others
// nobody knows which articles are within their window.
func (s *streamEval) time(ts gjson.Result) (time.Time, error) {
	missing := !ts.Exists() || ts.Type == gjson.Null
	s.timed++
	if s.timed == 1 {
		s.timeless = missing
	}
	switch {
	case missing != s.timeless:
		return time.Time{}, errors.New(`"ts" must be in all lines or in none`)
	case missing:
		return timelessStart.Add(time.Duration(s.timed) * time.Second), nil
	}
	if ts.Type != gjson.Number || !(ts.Float() >= 0 && ts.Float() < latestTime) {
		return time.Time{}, fmt.Errorf(`"ts" is %.40s, must be a number of seconds since 1970`, ts.Raw)
	}
	return time.UnixMilli(int64(ts.Float() * 1000)), nil
}

// flush decides the articles of the batch.
func (s *streamEval) flush(ctx context.Context) error {
	if len(s.batch) == 0 {
		return nil
	}
	prepared, err := s.stages.Prepare(ctx, s.batch)
	if err != nil {
		return err
	}
	outputs, err := s.stages.Decide(ctx, prepared)
	if err != nil {
		return err
	}
	for i := range outputs { // one for each record: none is skipped
		says, err := pipeline.ParseHeaders(outputs[i].Headers) // as consumers of the output topics do
		if err != nil {
			return fmt.Errorf("verdict on the article at %s: %w", outputs[i].Record, err)
		}
		says.Verdict.Destination = outputs[i].Destination
		v := streamVerdict(&says.Verdict)
		a, _ := prepared.Article(i)
		switch v.Dead = a == nil; {
		case says.Reject != nil:
			s.reader.noteBad(len(s.verdicts), string(says.Reject.Reason))
		case v.Dead: // a deletion
			s.reader.noteBad(len(s.verdicts), "")
		case !s.all:
			s.claimed = append(s.claimed, *a)
		}
		s.verdicts = append(s.verdicts, v)
	}
	s.reader.articles.Add(int64(len(outputs)))
	s.batch = s.batch[:0]
	return nil
}

func streamVerdict(from *article.Verdict) figures.StreamVerdict {
	v := figures.StreamVerdict{
		Flagged: from.Kind.IsCopy(), Possible: from.Kind == article.Possible, Original: -1, Root: -1,
	}
	v.Published = v.Flagged && from.Destination != article.ToDuplicate
	if v.Flagged || v.Possible {
		v.Original, v.Root = int(from.Original.Offset), int(from.Root.Offset)
		v.Distance, v.Reason = from.Distance, from.Reason.String()
	}
	return v
}
