package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"echosieve/app/command"
	"echosieve/app/inquiry"
	"echosieve/app/visible"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/changes"
	"echosieve/pipeline/record"
)

// maxTextBytes is the length at which texts are cut for display. Browsers show longer ones, but slowly.
const maxTextBytes = 200 << 10

// shown is one article on the page, with the beginning of its text.
type shown struct {
	inquiry.Article
	Beginning string `json:"text,omitempty"`
}

// explained is the answer to a request for a verdict.
type explained struct {
	// Verdict is empty if none was found; then Note says so.
	Verdict *row   `json:"verdict,omitempty"`
	Note    string `json:"note,omitempty"`
	// Articles are the original, if the article has one, and the article: the earlier one first.
	Articles []shown `json:"articles"`
	// Runs are the texts of two articles without markup, word by word; the earlier one is on the left.
	Runs    []changes.Run    `json:"runs,omitempty"`
	Changes *changes.Changes `json:"changes,omitempty"` // what the later one brings
}

// serveVerdict answers with the verdict about the record whose coordinates the parameter "at" holds, and with
// the articles. The record may be of the input topic or of an output topic.
func (c *Console) serveVerdict(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	at, err := article.ParseCoordinates(r.URL.Query().Get("at"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	own := c.article(ctx, article.Ref{Coordinates: at})
	x := explained{Articles: []shown{own}}
	if own.Output != nil {
		x.Verdict = publishedRow(&own.Output.OutputHeaders)
	} else {
		x.Verdict, x.Note = c.verdict(ctx, at, own.Time)
	}
	if v := x.Verdict; v != nil && v.Original != "" {
		of, _ := article.ParseCoordinates(v.Original) // a row holds nothing else
		original := c.article(ctx, article.Ref{ID: v.OriginalID, Coordinates: of})
		original.Title = cmp.Or(original.Title, v.OriginalTitle)
		if original.Gone == "" && own.Gone == "" {
			if !c.fingerprint(ctx, w, &original.Article, &own.Article) {
				return
			}
			x.Runs = align(&original.Article, &own.Article)
			x.Changes = inquiry.WhatIsNew(&original.Article, &own.Article)
		}
		x.Articles = []shown{original, own}
	}
	c.answer(w, x)
}

// verdict returns the verdict about a record of an input topic: from the last verdicts of this process, or
// else from the output topics. If there is none, it returns why. time is the record's, zero if it is not known.
func (c *Console) verdict(ctx context.Context, at article.Coordinates, time time.Time) (found *row, note string) {
	switch r := c.feed.verdict(at.String()); {
	case r != nil, !slices.Contains(c.cfg.Kafka.Topics.Inputs, at.Topic):
		return r, ""
	case time.IsZero(): // whole partitions would be searched
		return nil, "The record is gone, and its verdict is not among the last of this process."
	}
	o, err := c.reader.Verdict(ctx, at, time)
	if err != nil {
		return nil, err.Error()
	}
	return publishedRow(&o.OutputHeaders), ""
}

// maxTitles bounds the titles of one request: each costs a read from Kafka.
const maxTitles = 6

// serveTitles answers with the titles of the articles whose coordinates the parameters "at" hold, as far as
// Kafka has them.
func (c *Console) serveTitles(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	wanted, titles := r.URL.Query()["at"], map[string]string{}
	if len(wanted) > maxTitles {
		http.Error(w, fmt.Sprintf("at most %d titles can be asked for at a time", maxTitles), http.StatusBadRequest)
		return
	}
	for _, name := range wanted {
		if at, err := article.ParseCoordinates(name); err == nil {
			titles[name] = shortened(c.article(ctx, article.Ref{Coordinates: at}).Title)
		}
	}
	c.answer(w, titles)
}

// article reads an article. Without a text it says why; of a dead letter it has the value.
func (c *Console) article(ctx context.Context, ref article.Ref) shown {
	a, _ := c.reader.Article(ctx, ref) // Gone has the error
	return shown{a, beginning(a.Text)}
}

// beginning cuts a text for display. Bytes that are not UTF-8 become U+FFFD.
func beginning(text string) string {
	return strings.ToValidUTF8(article.Cut(text, maxTextBytes), "�")
}

// publishedRow is what the headers of a published record say, as a row of the feed.
func publishedRow(p *pipeline.OutputHeaders) *row {
	o := pipeline.Output{Record: &record.Record{Coordinates: p.Input}, Verdict: p.Verdict}
	if p.Reject != nil {
		o.Destination, o.Reason = article.ToDead, string(p.Reject.Reason)
	}
	return newRow(&o, time.Time{})
}

// finding is the answer to a search.
type finding struct {
	Rows     []*row `json:"rows"`     // the last verdicts on articles with the id, newest first
	Searched int    `json:"searched"` // verdicts of this process
	Note     string `json:"note"`     // where else was searched, if nothing was found
}

// findSince is how far back an id is searched in Kafka, as explain --id does it.
const findSince = 24 * time.Hour

// serveFind searches for an id among the last verdicts of this process, and then in the output topics: another process
// may have decided it.
func (c *Console) serveFind(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	id := strings.TrimSpace(r.URL.Query().Get("q"))
	rows, searched := c.feed.find(id)
	f := finding{Rows: rows, Searched: searched}
	if len(rows) == 0 && id != "" {
		switch o, _, err := c.reader.ByID(ctx, id, time.Now().Add(-findSince)); {
		case err != nil:
			f.Note = "The output topics could not be searched to their ends: " + err.Error()
		case o == nil:
			f.Note = "Nor is one in the output topics of the last 24 hours."
		default:
			f.Rows = append(f.Rows, publishedRow(&o.OutputHeaders))
		}
	}
	c.answer(w, f)
}

// maxCompareBytes bounds the body of a request to compare.
const maxCompareBytes = 4 << 20

// serveCompare judges two texts as the service does. Nothing is stored.
func (c *Console) serveCompare(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	var texts struct{ Earlier, Later string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCompareBytes)).Decode(&texts); err != nil {
		http.Error(w, fmt.Sprintf("two texts of together at most %d MiB are needed: %v", maxCompareBytes>>20, err),
			http.StatusBadRequest)
		return
	}
	earlier := inquiry.Article{Record: "the earlier text", Text: texts.Earlier}
	later := inquiry.Article{Record: "the later text", Text: texts.Later}
	if !c.fingerprint(ctx, w, &earlier, &later) {
		return
	}
	answer := c.judge.Compare(&earlier, &later, false)
	answer.Texts = align(&earlier, &later)
	answer.Changes = inquiry.WhatIsNew(&earlier, &later)
	c.answer(w, answer)
}

// fingerprint makes of two articles what is compared, or answers that it cannot.
func (c *Console) fingerprint(ctx context.Context, w http.ResponseWriter, earlier, later *inquiry.Article) bool {
	err := c.cfg.Input.Memory.While(ctx, len(earlier.Text)+len(later.Text), func() {
		c.judge.Fingerprint(earlier)
		c.judge.Fingerprint(later)
	})
	if err != nil {
		http.Error(w, "there is no memory for the texts at present", http.StatusServiceUnavailable)
	}
	return err == nil
}

// align aligns the beginnings of two texts.
func align(earlier, later *inquiry.Article) []changes.Run {
	a, b := *earlier, *later
	a.Text, b.Text = beginning(a.Text), beginning(b.Text)
	return inquiry.Align(&a, &b)
}

// answer sends v as JSON.
func (c *Console) answer(w http.ResponseWriter, v any) { visible.Answer(w, http.StatusOK, v, c.log) }

// serveRelease publishes the article whose coordinates the parameter "at" holds after all. The service needs Write on
// the input topic.
func (c *Console) serveRelease(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	at, err := article.ParseCoordinates(r.URL.Query().Get("at"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	done, err := c.release.Release(ctx, at.String(), time.Time{}, false)
	switch refused := (*command.AnswerError)(nil); {
	case errors.As(err, &refused):
		http.Error(w, refused.Text, http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	default:
		c.log.InfoContext(ctx, "released", "record", done.Record, "released", done.New, "already", done.Already)
		visible.Answer(w, http.StatusOK, done, c.log)
	}
}
