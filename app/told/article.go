package told

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/visible"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

// Article is an article as far as Kafka and the index have it.
type Article struct {
	ID        string    `json:"id"`
	Record    string    `json:"record"` // coordinates of the input
	Time      time.Time `json:"time,omitzero"`
	Title     string    `json:"title,omitempty"`
	URL       string    `json:"url,omitempty"`
	Publisher string    `json:"publisher,omitempty"`
	Bytes     int       `json:"text_bytes"`        // 0: the text is not known
	Verdict   string    `json:"verdict,omitempty"` // of an earlier article; empty: not known
	Gone      string    `json:"gone,omitempty"`    // why there is no text
	Index     *Stored   `json:"index,omitempty"`

	Text string `json:"-"` // as the record has it, with markup
}

// Origin is what its fingerprint and signature depend on besides the text.
func (a *Article) Origin() article.Origin {
	return article.Origin{Publisher: a.Publisher, URL: a.URL, Title: a.Title, Time: a.Time}
}

// Article reads an article from Kafka. An article without a text says why, also beside an error.
func (r *Reader) Article(ctx context.Context, ref article.Ref) (Article, error) {
	rec, err := r.Record(ctx, ref.Coordinates)
	if err != nil {
		return Article{ID: ref.ID, Record: ref.String(), Gone: err.Error()}, err
	}
	return r.Describe(rec), nil
}

// Describe describes the article of an input record. A record without a value has no text.
func (r *Reader) Describe(rec record.Record) Article {
	a := Article{Record: rec.String(), ID: rec.String(), Time: rec.Time}
	switch {
	case rec.Value != nil:
		content, err := r.decode.Decode(&rec)
		a.ID, a.Title, a.URL, a.Publisher = content.ID, content.Title, content.URL, content.Publisher
		if err != nil {
			a.Gone = err.Error()
			return a
		}
		a.Text, a.Bytes = content.Text, len(content.Text)
	case rec.Oversize == nil:
		a.Gone = "there is no value"
	case rec.Oversize.Batch > 0:
		a.Gone = fmt.Sprintf("decompressing the record's batch takes %d MiB of memory: too much", rec.Oversize.Batch>>20)
	default:
		a.Gone = fmt.Sprintf("the value has %d bytes: too large for kafka.max_message_bytes", rec.Oversize.ValueBytes)
	}
	return a
}

// mostTitle bounds the part of a title that is shown, in columns. JSON has all of it.
const mostTitle = 200

// String describes an article in one line in which nothing is hidden.
func (a *Article) String() string {
	parts := []string{a.Record}
	if a.ID != a.Record {
		parts = append(parts, "id "+a.ID)
	}
	if !a.Time.IsZero() {
		parts = append(parts, a.Time.UTC().Format(time.DateTime))
	}
	if a.Verdict != "" {
		parts = append(parts, a.Verdict)
	}
	if a.Title != "" {
		parts = append(parts, `"`+text.Trim(visible.Line(a.Title), mostTitle)+`"`)
	}
	if a.Gone != "" {
		parts = append(parts, "no text: "+a.Gone)
		if a.Index == nil {
			parts = append(parts, "not found in the index")
		}
	}
	if a.Index != nil {
		parts = append(parts, a.Index.String())
	}
	return visible.Line(strings.Join(parts, ", "))
}
