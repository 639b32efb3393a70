package inquiry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/app/visible"
	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/record"
	"echosieve/redisindex/keyspace"
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
	// Repeated are sentences that its publisher repeats. They are left out of what is compared.
	Repeated []Repeated `json:"repeated,omitempty"`

	Text string `json:"-"` // as the record has it, with markup; of a dead letter the value
	// Output is what was published about the article, if the record that was read is an output.
	Output *Output `json:"-"`
	// Made is what is compared, from the text or the index; nil: neither has it, or nobody has asked.
	Made *article.Article `json:"-"`
	// Stored is what the index has; nil: nothing.
	Stored *keyspace.StoredArticle `json:"-"`
}

// Fingerprint makes of the text what is compared, if there is one.
func (t *Judge) Fingerprint(a *Article) {
	if a.Gone != "" {
		return
	}
	from := article.Origin{Publisher: a.Publisher, URL: a.URL, Title: a.Title, Time: a.Time}
	made, _ := t.recipe.Fingerprint(a.Text, from)
	made.ID, made.Time = a.ID, a.Time
	made.Coordinates, _ = article.ParseCoordinates(a.Record) // a text of a command line has none
	a.Made, a.Repeated = &made, t.repeated(a.Text, a.Record, from, &made)
}

// SetStored adds what the index has. It replaces what is not known from the text.
func (a *Article) SetStored(s *keyspace.StoredArticle) {
	a.Stored, a.Index = s, NewStored(s)
	if a.Made == nil {
		made := s.Article
		if !made.LittleText {
			made.SimHash = made.Fingerprint
		}
		a.Made, a.Time = &made, s.Time
	}
}

// Article reads an article from Kafka, by the coordinates of its input record or of an output. An article without a
// text says why, also beside an error.
func (r *Reader) Article(ctx context.Context, ref article.Ref) (Article, error) {
	rec, err := r.Fetch(ctx, ref.Coordinates)
	if err == nil && !slices.Contains(r.cfg.Topics.Inputs, ref.Topic) {
		switch o, notOutput := parse(rec); {
		case notOutput == nil:
			return r.ArticleOf(ctx, o)
		case !errors.Is(notOutput, pipeline.ErrNoOutput):
			err = fmt.Errorf("%s: %w", ref, notOutput)
		}
	}
	if err != nil {
		return Article{ID: ref.ID, Record: ref.String(), Gone: err.Error()}, err
	}
	return r.describe(ctx, rec), nil
}

// ArticleOf reads the article of an output: from its value, or from the input if the output has none.
func (r *Reader) ArticleOf(ctx context.Context, o *Output) (a Article, err error) {
	rec := o.Record
	// left out of the output: a shadow, or a large dead letter
	if rec.Value == nil && (o.Reject != nil || o.Verdict.Root != article.Ref{}) {
		rec, err = r.Fetch(ctx, o.Input)
	}
	rec.Coordinates = o.Input
	a = r.describe(ctx, rec)
	if a.Output = o; err != nil {
		a.Gone = err.Error()
	}
	return a, err
}

// describe describes the article of an input record. A record without a value has no text.
func (r *Reader) describe(ctx context.Context, rec record.Record) Article {
	a := Article{Record: rec.String(), ID: rec.String(), Time: rec.Time}
	switch {
	case rec.Value != nil:
		err := r.decode.With(ctx, &rec, func(content article.Content, reject *record.RejectError) {
			a.ID, a.Title, a.URL, a.Publisher = content.ID, content.Title, content.URL, content.Publisher
			a.Text, a.Bytes = content.Text, len(content.Text)
			if reject != nil {
				a.Text, a.Bytes, a.Gone = string(rec.Value), 0, reject.Error()
			}
		})
		if err != nil {
			a.Gone = err.Error()
		}
	case rec.Oversize == nil:
		a.Gone = "there is no value"
	case rec.Oversize.Batch > 0:
		a.Gone = fmt.Sprintf("decompressing the record's batch takes %d MiB of memory: too much", rec.Oversize.Batch>>20)
	default:
		a.Gone = fmt.Sprintf("the value has %d bytes: too large for kafka.max_message_bytes", rec.Oversize.ValueBytes)
	}
	return a
}

// Find returns what was published about an article, which is named by the coordinates of its record in the input or an
// output topic, or by its id. Of several articles with an id it is the latest that is not older than since. Without
// such an article the error is a *command.AnswerError.
func (r *Reader) Find(ctx context.Context, name string, since time.Time) (*Output, error) {
	at, err := article.ParseCoordinates(name)
	if err != nil {
		o, _, err := r.ByID(ctx, name, since)
		if err == nil && o == nil {
			err = &command.AnswerError{Text: fmt.Sprintf("no article with the id %q is in the output topics since %s; "+
				"search further back with --since, or name its coordinates", name, since.UTC().Format(time.DateTime))}
		}
		return o, err
	}
	a, err := r.Article(ctx, article.Ref{Coordinates: at})
	if a.Output != nil {
		return a.Output, nil
	}
	if err != nil && (!errors.Is(err, tools.ErrNoRecord) || !slices.Contains(r.cfg.Topics.Inputs, at.Topic)) {
		return nil, answer(err)
	}
	o, err := r.Verdict(ctx, at, a.Time)
	return o, answer(err)
}

// answer makes an answer of an error that says that there is no such record or verdict.
func answer(err error) error {
	if errors.Is(err, tools.ErrNoRecord) || errors.Is(err, ErrNoVerdict) {
		return &command.AnswerError{Text: err.Error()}
	}
	return err
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

// Repeated is a sentence that is left out of an article, because publishers repeat it.
type Repeated struct {
	Sentence  string    `json:"sentence"`            // clean
	Publisher string    `json:"publisher,omitempty"` // who repeats it; "*": at least learnt.Publishers of them
	Since     time.Time `json:"since,omitzero"`      // from when on it is left out; zero: from the article behind those
	Articles  int       `json:"articles"`            // so many different ones had it by then
}

// repeated lists the sentences of a text that are left out of an article made of it. Where too little would be left,
// the article is compared whole. A sentence without a begin is left out of what follows its example in a file.
func (t *Judge) repeated(raw, record string, from article.Origin, made *article.Article) (list []Repeated) {
	if made.RepeatedBytes == 0 {
		return nil
	}
	for _, r := range t.recipe.Repeated(raw, from) {
		number, same := strings.CutPrefix(record, fmt.Sprintf("%s/%d/", r.Example.Topic, r.Example.Partition))
		if at, _ := strconv.ParseInt(number, 10, 64); same && r.Begin.IsZero() && r.Example.Offset >= at {
			continue
		}
		list = append(list, Repeated{Sentence: r.Text, Publisher: r.Publisher, Since: r.Begin.UTC(), Articles: r.Articles})
	}
	return list
}

// String says in one line what is left out and why.
func (r *Repeated) String() string {
	who := "of this publisher"
	switch r.Publisher {
	case learnt.Everybody:
		who = fmt.Sprintf("of each of %d publishers", learnt.Publishers)
	case "":
		who = "without a publisher"
	}
	since := ""
	if !r.Since.IsZero() {
		since = r.Since.Format(" since 2006-01-02 15:04")
	}
	return fmt.Sprintf("left out%s, repeated by %d articles %s: %s", since, r.Articles, who,
		text.Trim(visible.Line(r.Sentence), mostTitle))
}
