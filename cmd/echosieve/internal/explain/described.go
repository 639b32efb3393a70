package explain

import (
	"context"
	"fmt"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
)

// described is an article of the explanation.
type described struct {
	ID        string    `json:"id"`
	Record    string    `json:"record"` // coordinates of the input
	Time      time.Time `json:"time,omitzero"`
	Title     string    `json:"title,omitempty"`
	URL       string    `json:"url,omitempty"`
	Publisher string    `json:"publisher,omitempty"`
	Bytes     int       `json:"text_bytes"`        // 0: the text is not known
	Verdict   string    `json:"verdict,omitempty"` // of an earlier article; empty: not known
	Gone      string    `json:"gone,omitempty"`    // why there is no text
	Index     *stored   `json:"index,omitempty"`

	text string           // as the record has it, with markup
	made *article.Article // from the text or the index; nil: neither has it
}

// stored is what the index has of an article.
type stored struct {
	Fingerprint string `json:"fingerprint"`
	Ticket      uint64 `json:"ticket"`
	Verdict     string `json:"verdict"` // empty: undecided
	Original    string `json:"original,omitempty"`
	Overflow    bool   `json:"overflow,omitempty"`
	Hidden      bool   `json:"hidden,omitempty"` // only a replay of its record finds the entry

	verdict article.Verdict
}

// origin is what fingerprints depend on besides the text.
func (d *described) origin() article.Origin {
	return article.Origin{Publisher: d.Publisher, Time: d.Time}
}

// describe makes a description of an input record. A record without a value has no text.
func (e *explainer) describe(r record.Record) described {
	d := described{Record: r.String(), ID: r.String(), Time: r.Time}
	if r.Value == nil {
		d.Gone = "there is no value"
		if r.Oversize != nil {
			d.Gone = fmt.Sprintf("the value has %d bytes: too large for kafka.max_message_bytes", r.Oversize.ValueBytes)
			if r.Oversize.Batch > 0 {
				d.Gone = fmt.Sprintf("decompressing the record's batch takes %d MiB of memory: too much",
					r.Oversize.Batch>>20)
			}
		}
		return d
	}
	content, err := e.cfg.Input.Decode(&r)
	d.ID, d.Title, d.URL, d.Publisher = content.ID, content.Title, content.URL, content.Publisher
	if err != nil {
		d.Gone = err.Error()
		return d
	}
	d.text, d.Bytes = content.Text, len(content.Text)
	made, _ := e.recipe.Fingerprint(content.Text, d.origin())
	made.Coordinates, made.ID, made.Time = r.Coordinates, content.ID, r.Time
	d.made = &made
	return d
}

// fetch describes the article with the coordinates, as far as Kafka and the index have it. known are entries
// of the index in which it may be.
func (e *explainer) fetch(ctx context.Context, x *explanation, ref article.Ref,
	known []redisindex.Candidate) described {
	r, err := e.reader.Record(ctx, ref.Coordinates)
	if err == nil {
		d := e.describe(r)
		e.addStored(ctx, x, &d)
		return d
	}
	d := described{ID: ref.ID, Record: ref.String(), Gone: err.Error()}
	for _, c := range known {
		if c.Coordinates == ref.Coordinates {
			d.setStored(c.StoredArticle)
		}
	}
	return d
}

// setStored adds what the index has. It replaces what is not known from the text.
func (d *described) setStored(s keyspace.StoredArticle) {
	d.Index = &stored{Fingerprint: s.Fingerprint.String(), Ticket: s.Ticket, Overflow: s.Overflow, Hidden: s.Hidden,
		verdict: s.Verdict}
	if s.Verdict.Kind != 0 {
		d.Index.Verdict = s.Verdict.Kind.String()
		if s.Verdict.Kind != article.Unique {
			d.Index.Original = s.Verdict.Original.String()
		}
	}
	if d.made == nil {
		made := s.Article
		if !made.LittleText {
			made.SimHash = made.Fingerprint
		}
		d.made, d.Time = &made, s.Time
	}
}

// addStored adds what the index has of an article whose text is known.
func (e *explainer) addStored(ctx context.Context, x *explanation, d *described) {
	if e.index == nil || d.made == nil {
		return
	}
	found, err := e.index.Stored(ctx, d.made)
	if err != nil {
		e.loseIndex(x, err)
		return
	}
	for _, s := range found {
		if s.Coordinates == d.made.Coordinates {
			d.setStored(s)
		}
	}
}

// loseIndex goes on without the index.
func (e *explainer) loseIndex(x *explanation, err error) {
	e.index = nil
	x.Notes = append(x.Notes, "the index was not asked: "+err.Error())
}
