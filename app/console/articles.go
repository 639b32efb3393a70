package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"echosieve/app/sidebyside"
	"echosieve/app/told"
	"echosieve/app/visible"
	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

// maxTextBytes is the length at which texts are cut for display. Browsers show longer ones, but slowly.
const maxTextBytes = 200 << 10

// shown is one article on the page.
type shown struct {
	At        string `json:"at"`
	ID        string `json:"id,omitempty"`
	Title     string `json:"title,omitempty"`
	Publisher string `json:"publisher,omitempty"`
	URL       string `json:"url,omitempty"`
	Time      int64  `json:"time,omitempty"` // record timestamp, in milliseconds since 1970
	// Text is the article's, at most maxTextBytes of it. Bytes is the length of the whole text.
	Text  string `json:"text,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
	// Published is what the headers say, of a record of an output topic.
	Published *row `json:"published,omitempty"`
	// Problem says why there is no text.
	Problem string `json:"problem,omitempty"`
}

// explained is the answer to a request for a verdict.
type explained struct {
	// Verdict is empty if none was found; then Note says so.
	Verdict *row   `json:"verdict,omitempty"`
	Note    string `json:"note,omitempty"`
	// Articles are the original, if the article has one, and the article: the earlier one first.
	Articles []shown `json:"articles"`
	// Runs are the texts of two articles without markup, word by word; the earlier one is on the left.
	Runs []sidebyside.Run `json:"runs,omitempty"`
}

// serveVerdict answers with the verdict about the record whose coordinates the parameter "at" holds, and with
// the articles. The record may be of the input topic or of an output topic.
func (c *Console) serveVerdict(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	at := r.URL.Query().Get("at")
	if _, err := article.ParseCoordinates(at); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	own, err := c.article(ctx, at)
	if err != nil {
		own = shown{At: at, Problem: err.Error()}
	}
	x := explained{Verdict: own.Published, Articles: []shown{own}}
	if x.Verdict == nil {
		x.Verdict, x.Note = c.verdict(ctx, at, own.Time)
	}
	if x.Verdict != nil && x.Verdict.Original != "" {
		original, err := c.article(ctx, x.Verdict.Original)
		if err != nil {
			original = shown{
				At: x.Verdict.Original, ID: x.Verdict.OriginalID, Title: x.Verdict.OriginalTitle,
				Problem: err.Error(),
			}
		}
		x.Articles = []shown{original, own}
		if original.Problem == "" && own.Problem == "" {
			x.Runs = told.Align(original.Text, own.Text)
		}
	}
	c.answer(w, x)
}

// verdict returns the verdict about a record of an input topic: from the last verdicts of this process, or
// else from the output topics. If there is none, it returns why. ms is the record's timestamp; 0 if it is not
// known.
func (c *Console) verdict(ctx context.Context, at string, ms int64) (found *row, note string) {
	if r := c.feed.verdict(at); r != nil {
		return r, ""
	}
	input, err := article.ParseCoordinates(at)
	if err != nil || !slices.Contains(c.cfg.Kafka.Topics.Inputs, input.Topic) {
		return nil, ""
	}
	if ms == 0 { // whole partitions would be searched
		return nil, "The record is gone, and its verdict is not among the last of this process."
	}
	reader := told.NewReader(c.cfg.Kafka, c.cfg.Decode, io.Discard)
	defer reader.Close()
	o, err := reader.Verdict(ctx, input, time.UnixMilli(ms))
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
	for _, at := range wanted {
		if s, err := c.article(ctx, at); err == nil {
			titles[at] = shortened(s.Title)
		}
	}
	c.answer(w, titles)
}

// article reads and decodes the record of an article.
func (c *Console) article(ctx context.Context, coordinates string) (shown, error) {
	at, err := article.ParseCoordinates(coordinates)
	if err != nil {
		return shown{}, err
	}
	if !c.topics[at.Topic] {
		return shown{}, fmt.Errorf("the console reads the configured topics only, and %q is none of them", at.Topic)
	}
	rec, err := c.archive.Record(ctx, at)
	if errors.Is(err, tools.ErrNoRecord) {
		//nolint:staticcheck // a sentence of the page
		return shown{}, errors.New("Kafka no longer has this record, or has none there yet")
	}
	if err != nil {
		return shown{}, err
	}
	s := shown{At: coordinates, Time: rec.Time.UnixMilli()}
	if published, err := pipeline.ParseHeaders(rec.Headers); err == nil {
		s.Published = publishedRow(&published)
		if input := published.Input; rec.Value == nil && at.Topic == c.cfg.Kafka.Topics.Shadow &&
			c.topics[input.Topic] {
			if rec, err = c.archive.Record(ctx, input); err != nil { // a shadow publishes no values
				return shown{}, fmt.Errorf("the record of the input, %s: %w", input, err)
			}
		}
	}
	if rec.Oversize != nil || rec.Value == nil {
		return shown{}, fmt.Errorf("the record has no value that can be shown (%d bytes)", rec.Size())
	}
	err = c.cfg.Decode.With(ctx, &rec, func(content article.Content, reject *record.RejectError) {
		if reject != nil { // a dead letter is shown as it is
			content = article.Content{Text: string(rec.Value)}
		}
		s.ID, s.Title, s.Publisher, s.URL = content.ID, content.Title, content.Publisher, content.URL
		s.Text, s.Bytes = cutText(content.Text)
		s.Text = strings.Clone(s.Text) // the whole text may be long
	})
	return s, err
}

// cutText cuts a text for display, at a character, and returns its length before that. Bytes that are not
// UTF-8 become U+FFFD.
func cutText(text string) (cut string, bytes int) {
	return strings.ToValidUTF8(text[:endWithin(text, maxTextBytes)], "�"), len(text)
}

// endWithin returns where a text must be cut so that at most n bytes are left, and no character is cut.
func endWithin(text string, n int) int {
	if len(text) <= n {
		return len(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// publishedRow is what the headers of a published record say, as a row of the feed.
func publishedRow(p *pipeline.OutputHeaders) *row {
	o := pipeline.Output{Record: &record.Record{Coordinates: p.Input}, Verdict: p.Verdict}
	if p.Reject != nil {
		o.Destination, o.Reason = article.ToDead, string(p.Reject.Reason)
	}
	r := newRow(&o, 0, time.Time{})
	return &r
}

// finding is the answer to a search.
type finding struct {
	// At are the coordinates, if the search was for coordinates.
	At string `json:"at,omitempty"`
	// Rows are the last verdicts on articles with the id, newest first. Searched is the number of verdicts
	// that were searched.
	Rows     []row `json:"rows,omitempty"`
	Searched int   `json:"searched,omitempty"`
}

// serveFind searches for coordinates or, among the last verdicts of this process, for an id.
func (c *Console) serveFind(w http.ResponseWriter, r *http.Request) {
	wanted := strings.TrimSpace(r.URL.Query().Get("q"))
	if _, err := article.ParseCoordinates(wanted); err == nil {
		c.answer(w, finding{At: wanted})
		return
	}
	rows, searched := c.feed.find(wanted)
	c.answer(w, finding{Rows: rows, Searched: searched})
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
	var earlier, later article.Article
	if err := c.cfg.Decode.Memory.While(ctx, len(texts.Earlier)+len(texts.Later), func() {
		earlier, _ = c.cfg.Recipe.Fingerprint(texts.Earlier, article.Origin{})
		later, _ = c.cfg.Recipe.Fingerprint(texts.Later, article.Origin{})
	}); err != nil {
		http.Error(w, "there is no memory for the texts at present", http.StatusServiceUnavailable)
		return
	}
	answer := c.cfg.Judge.Compare([2]string{"the earlier text", "the later text"}, &earlier, &later, false)
	left, _ := cutText(texts.Earlier)
	right, _ := cutText(texts.Later)
	answer.Texts = told.Align(left, right)
	c.answer(w, answer)
}

// answer sends v as JSON. Browsers never take it for a page: it has its content type, and they are told not to guess.
func (c *Console) answer(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(visible.JSON(data)); err != nil {
		c.log.Debug("answer not written", "err", err)
	}
}
