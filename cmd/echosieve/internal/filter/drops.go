package filter

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"echosieve/app/drops"
	"echosieve/app/inquiry"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

// dropped collects what the page of --html shows. Any article may become an original, so all of them are kept, in a
// temporary file.
type dropped struct {
	judge   *inquiry.Judge
	decode  decode.Config
	weakest drops.Weakest
	kept    *os.File
	size    int64
	places  map[article.Coordinates]place
}

// place is where the temporary file has an article.
type place struct {
	at, length int64
	time       time.Time
}

// newDropped makes the temporary file. The caller calls close.
func newDropped(judge *inquiry.Judge, input decode.Config) (*dropped, error) {
	kept, err := os.CreateTemp("", "echosieve-filter-")
	if err != nil {
		return nil, fmt.Errorf("--html keeps the articles in a temporary file: %w", err)
	}
	return &dropped{judge: judge, decode: input, kept: kept, places: map[article.Coordinates]place{}}, nil
}

func (d *dropped) close() {
	_ = d.kept.Close() // it is read no more
	_ = os.Remove(d.kept.Name())
}

func (d *dropped) add(out *pipeline.Output) error {
	if out.Verdict.Root == (article.Ref{}) { // of a dead letter or a null value
		return nil
	}
	n, err := d.kept.Write(out.Record.Value)
	d.places[out.Record.Coordinates] = place{d.size, int64(n), out.Record.Time}
	d.size += int64(n)
	d.weakest.Offer(drops.Drop{Input: out.Record.Coordinates, Time: out.Record.Time, Verdict: out.Verdict})
	return err
}

func (d *dropped) article(ref article.Ref) (inquiry.Article, error) {
	a := inquiry.Article{ID: ref.ID, Record: ref.String()}
	p, known := d.places[ref.Coordinates]
	if !known {
		a.Gone = "an earlier run has read it"
		return a, nil
	}
	value := make([]byte, p.length)
	if _, err := d.kept.ReadAt(value, p.at); err != nil {
		return a, err
	}
	content, _ := d.decode.Decode(&record.Record{Coordinates: ref.Coordinates, Value: value, Time: p.time})
	a.ID, a.Title, a.URL, a.Publisher, a.Text = content.ID, content.Title, content.URL, content.Publisher, content.Text
	a.Time, a.Bytes = p.time, len(content.Text)
	return a, nil
}

func (d *dropped) write(w io.Writer, names []string) error {
	title := "Dropped articles of " + strings.Join(names, ", ")
	page, err := drops.NewPage(title, len(d.places), &d.weakest, d.judge,
		func(drop *drops.Drop) (earlier, later inquiry.Article, err error) {
			if later, err = d.article(article.Ref{Coordinates: drop.Input}); err == nil {
				earlier, err = d.article(drop.Verdict.Original)
			}
			return earlier, later, err
		})
	if err != nil {
		return err
	}
	return page.Write(w)
}

// releases are articles whose drop somebody takes back, by id or by FILE/RUN/NUMBER.
type releases map[string]bool

// readReleases returns the articles of the command line, and those that a file of marks says are wrongly dropped. The
// number of the run in a mark is that of an earlier run, so the id counts as well if the article has one.
func readReleases(names []string, marks string) (releases, error) {
	all := releases{}
	for _, name := range names {
		all[name] = true
	}
	if marks == "" {
		return all, nil
	}
	list, err := drops.ReadMarks(marks)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	for _, m := range list {
		if m.Wrong() {
			all[m.Record], all[m.ID] = true, true
		}
	}
	return all, nil
}

// apply gives the record the header of a release if its article is one of them. The header names the id in place of
// coordinates, which are others in each run: an article is released once.
func (r releases) apply(input decode.Config, it *record.Record) {
	if len(r) == 0 {
		return
	}
	content, _ := input.Decode(it)
	if !r[it.String()] && !r[content.ID] {
		return
	}
	name := article.Coordinates{Topic: fmt.Sprintf("id-%x", sha256.Sum256([]byte(content.ID)))}
	it.Headers = []record.Header{{Key: pipeline.HeaderRelease, Value: []byte(name.String())}}
}
