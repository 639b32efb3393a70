package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"
	"golang.org/x/sync/errgroup"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/pipeline/article"
	"echosieve/pipeline/changes"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/pipeline/text"
)

// fileTopic is the topic in the coordinates of an article of a file. The offset is its place in the file.
const fileTopic = "eval"

// maxLine is the longest article of a file, in bytes.
const maxLine = 16 << 20

// reader reads the file of an evaluation and shows the progress.
type reader struct {
	file     string
	articles atomic.Int64 // articles that are finished
	progress *files.Progress
	stop     func()

	skipped files.Tally // pieces of the file that are no articles
	lost    int64       // those in which an article may be lost

	mu         sync.Mutex
	first      string // fault of the first article without a verdict
	firstPlace int
}

// newReader starts showing the progress. The caller calls finish.
func newReader(cmd *cobra.Command, file string) *reader {
	r := &reader{file: file}
	r.progress = files.NewProgress(cmd.ErrOrStderr(), files.Size([]string{file}), "evaluated", r.articles.Load)
	r.stop = r.progress.Start()
	return r
}

// each is eachArticle over a file of articles, with progress.
func (r *reader) each(ctx context.Context, name string, input decode.Config, f func(line []byte) error) error {
	return eachArticle(ctx, name, input, r.progress.Counting, r.skip, f)
}

// skip counts a piece of the file that is no article.
func (r *reader) skip(place string, skip *files.SkipError) {
	r.skipped.Add(skip.Cause, place)
	if !skip.NoPage {
		r.lost++
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = cmp.Or(r.first, place+": "+skip.Error())
}

// errEnough, returned for a line, ends eachArticle without an error.
var errEnough = errors.New("enough was read")

// eachArticle calls f with every article of a file as a line, until f fails or ctx ends. The function through, unless
// it is nil, wraps the file before it is read; skip hears of pieces of the file that are left out.
func eachArticle(ctx context.Context, name string, input decode.Config, through func(io.Reader) io.Reader,
	skip func(place string, skip *files.SkipError), f func(line []byte) error) error {
	in := &files.Reader{Names: []string{name}, Limit: maxLine, Input: input, Through: through}
	for a, err := range in.Articles(ctx) {
		skipped := (*files.SkipError)(nil)
		if errors.As(err, &skipped) && skipped.Line() != nil {
			a.Value, err = skipped.Line(), nil // an article without a verdict
		} else if skipped != nil {
			skip(in.At(a), skipped)
			continue
		}
		if err != nil {
			return err
		}
		if err = f(a.Value); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", in.At(a), err)
		}
	}
	return nil
}

// noteBad counts an article that gets no verdict, and remembers the fault of the first such article.
func (r *reader) noteBad(place int, fault string) {
	r.progress.Bad.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == "" || place < r.firstPlace {
		r.first, r.firstPlace = fmt.Sprintf("article %d: %s", place+1, fault), place
	}
}

// finish ends the progress and reports how many articles got no verdict. If no article got one, that is an
// error. err is the error that ended the reading; finish returns it if it is not nil.
func (r *reader) finish(errOut io.Writer, input decode.Config, err error) error {
	r.stop()
	dead := r.progress.Bad.Load()
	r.reportSkipped(errOut)
	switch {
	case err != nil:
		return err
	case dead == r.articles.Load():
		return files.NoArticle([]string{r.file}, input, r.first)
	case r.lost > r.articles.Load()-dead:
		return &command.AnswerError{Text: "most articles of " + r.file + " could not be read"}
	case dead > 0:
		fmt.Fprintf(errOut, "%s without an article that the service could judge: would be dead letters\n",
			visible.Count(dead, "line"))
	}
	return nil
}

// reportSkipped names the pieces of the file that are no articles, by cause.
func (r *reader) reportSkipped(errOut io.Writer) {
	if n := r.skipped.Total(); n > 0 {
		fmt.Fprintln(errOut, visible.Line(fmt.Sprintf("left out, because no article: %s of the file: %s",
			visible.Count(n, "piece"), &r.skipped)))
	}
}

// fingerprinted is an article of a file. An article that the service could not judge is marked as empty.
type fingerprinted struct {
	line     int // place in the file; blank lines do not count
	id       string
	families []string // see figures.FamilyColumns; may be empty
	article  article.Article
}

// fingerprint returns the articles of a file with their fingerprints, in the order of the file. It uses all
// cores.
func (r *reader) fingerprint(ctx context.Context, cfg config.Config, recipe *recipe.Recipe, name string) (
	[]*fingerprinted, error) {
	var list []*fingerprinted
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	input := cfg.Input.AsJSON()
	err := r.each(ctx, name, input, func(line []byte) error {
		place := len(list)
		content, reject := input.Decode(&record.Record{
			Coordinates: article.Coordinates{Topic: fileTopic, Offset: int64(place)}, Value: line,
		})
		f := &fingerprinted{place, content.ID, familiesIn(line), article.Article{Empty: true}}
		list = append(list, f)
		if reject != nil {
			r.noteBad(place, reject.Error())
			r.articles.Add(1)
			return nil
		}
		at := timeOf(line)
		workers.Go(func() error {
			f.article, _ = recipe.Fingerprint(content.Text, content.Origin(time.Time{}))
			f.article.ID, f.article.Time = content.ID, at
			if f.article.Empty {
				r.noteBad(place, string(record.EmptyText))
			}
			r.articles.Add(1)
			return nil
		})
		return nil
	})
	_ = workers.Wait() // nil
	return list, err
}

// familiesIn returns the families that the line of an article names.
func familiesIn(line []byte) []string {
	for _, name := range figures.FamilyColumns {
		if families := figures.SplitFamilies(idLabel(gjson.GetBytes(line, name))); len(families) > 0 {
			return families
		}
	}
	return nil
}

// besides returns articles of a file beside their originals. It reads the file again: keeping all texts since the
// first reading would take as much memory as the file. An article that the service could not judge is shown as far as
// it could be decoded.
func besides(ctx context.Context, cfg config.Config, file string, drawn []figures.Dropped) (list []figures.Beside,
	err error) {
	texts := map[int]article.Content{}
	for _, d := range drawn {
		texts[d.Article], texts[d.Original] = article.Content{}, article.Content{}
	}
	input, place, found := cfg.Input.AsJSON(), 0, 0
	err = eachArticle(ctx, file, input, nil, func(string, *files.SkipError) {}, func(line []byte) error {
		if found == len(texts) {
			return errEnough
		}
		if _, wanted := texts[place]; wanted {
			found++
			texts[place], _ = input.Decode(&record.Record{
				Coordinates: article.Coordinates{Topic: fileTopic, Offset: int64(place)}, Value: line,
			})
		}
		place++
		return nil
	})
	if err == nil && found < len(texts) {
		err = fmt.Errorf("%s has changed while it was read: %d articles are missing", file, len(texts)-found)
	}
	for _, d := range drawn {
		list = append(list, besideOf(texts[d.Original], texts[d.Article]))
	}
	return list, err
}

// besideOf returns two articles to show side by side.
func besideOf(earlier, later article.Content) figures.Beside {
	side := func(c article.Content) figures.Side {
		return figures.Side{ID: c.ID, Title: c.Title, Publisher: cmp.Or(c.Publisher, c.URL)}
	}
	return figures.Beside{Earlier: side(earlier), Later: side(later),
		Texts: changes.Align(text.Readable(earlier.Text), text.Readable(later.Text), text.Clean)}
}

// idLabel returns an id in the same form as the decoder does.
func idLabel(v gjson.Result) string {
	if v.Type == gjson.Number {
		return v.Raw
	}
	return v.String()
}

// timelessStart is the time of the first article of a stream without times.
var timelessStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// timeOf reads the time of an article of a pair, as filter does; timelessStart if it has none that can be read.
func timeOf(article []byte) time.Time {
	at, _ := decode.DefaultTimes.Find(article)
	return cmp.Or(at, timelessStart)
}
