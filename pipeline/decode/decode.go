// Package decode finds the article in the value of a record: it decompresses the value (compression.go), takes the
// framing of a schema registry off (framing.go), and reads JSON, Avro, text or a page. A value without an article is
// rejected with a reason, a position and a hint (encoding.go); no value ends the process, takes more time than linear
// in its length, or more memory than Memory allows.
package decode

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"

	"github.com/tidwall/gjson"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Decoder finds articles in records as its settings say. Safe for concurrent use.
type Decoder struct {
	Config
	fields  Fields     // the paths that are tried
	deletes []deletion // each reports that an article was deleted
}

// New returns a Decoder.
func New(c Config) *Decoder {
	return &Decoder{Config: c, fields: c.paths(), deletes: envelopes[c.Preset].deletes}
}

// Decode is that of a new Decoder, for programs that read few records.
func (c *Config) Decode(r *record.Record) (article.Content, *record.RejectError) {
	return New(*c).Decode(r)
}

// With is that of a new Decoder, for programs that read few records.
func (c *Config) With(ctx context.Context, r *record.Record, fn func(article.Content, *record.RejectError)) error {
	return New(*c).With(ctx, r, fn)
}

// Decode finds the article in a record's value. For a record that is rejected because of its text, it still returns the
// id. It is safe for concurrent use and takes time linear in the length of the value. If a schema cannot be had for
// schemaTimeout, the record is rejected.
func (d *Decoder) Decode(r *record.Record) (content article.Content, reject *record.RejectError) {
	ctx := context.Background()
	if d.Format == FormatAvro {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, schemaTimeout)
		defer cancel()
	}
	err := d.With(ctx, r, func(found article.Content, why *record.RejectError) { content, reject = found, why })
	if err != nil {
		return article.Content{ID: r.String()}, record.Reject(record.NoSchema, "%v", err)
	}
	return content, reject
}

// schemaTimeout bounds the time that Decode waits for a schema.
const schemaTimeout = 10 * time.Second

// With is Decode, and calls fn with the article. It waits for d.Memory before it decompresses the value, and gives the
// memory back when fn returns: who fingerprints the text does so in fn, and waits there for nothing. The error is that
// of ctx, or of the schemas if its server did not answer; then fn is not called.
func (d *Decoder) With(
	ctx context.Context, r *record.Record, fn func(article.Content, *record.RejectError),
) error {
	room, content := share{memory: d.Memory}, article.Content{ID: r.String()}
	defer func() { room.keep(0) }()
	err := d.decode(ctx, r, &room, &content)
	if reject, rejected := errors.AsType[*record.RejectError](err); err == nil || rejected {
		fn(content, reject)
		return nil
	}
	if pending, ok := errors.AsType[*Pending](err); ok {
		pending.Record = r.String()
	}
	return err
}

// decode finds the article. room then holds the memory that the article takes. The error is a *record.RejectError, or
// that of With.
func (d *Decoder) decode(ctx context.Context, r *record.Record, room *share, content *article.Content) error {
	if d.Format == FormatAvro {
		return d.decodeAvro(ctx, r, room, content)
	}
	p, err := d.open(ctx, r.Value, room, func(n int) int { return n })
	defer p.release()
	if err != nil {
		return err
	}
	value, _, err := d.unframe(r, p.bytes)
	if err != nil {
		return err
	}
	return d.find(r, value, content)
}

// decodeAvro is decode for Avro values. The JSON of most is hardly longer than the value. A value whose JSON is much
// longer is read again with more memory: waiting for that much each time would keep other articles waiting.
func (d *Decoder) decodeAvro(ctx context.Context, r *record.Record, room *share, content *article.Content) error {
	schema, err := d.schemaOf(ctx, r)
	if err != nil {
		return err
	}
	err = d.findAvro(ctx, r, room, schema, startBytes, content)
	if errors.Is(err, errTooLong) {
		err = d.findAvro(ctx, r, room, schema, startBytes+d.maxBytes(), content)
	}
	return err
}

// findAvro finds the article in an Avro value, whose JSON has at most twice its size and more bytes. If the JSON is
// longer and may be, the error is errTooLong, and room holds nothing.
func (d *Decoder) findAvro(
	ctx context.Context, r *record.Record, room *share, schema *Schema, more int, content *article.Content,
) error {
	p, err := d.open(ctx, r.Value, room, func(n int) int { return 3*n + more - startBytes })
	defer p.release()
	if err != nil {
		return err
	}
	value, id, err := d.unframe(r, p.bytes)
	if err != nil {
		return err
	}
	asJSON, err := schema.JSON(value, 2*len(value)+more)
	switch {
	case errors.Is(err, errTooLong) && more == startBytes:
		room.keep(0)
		return err
	case err != nil:
		return record.Reject(record.NotAvro, "%v; its schema is %s", err, cmp.Or(id, "that of schema_file"))
	}
	return d.find(r, asJSON, content)
}

// find finds the article in a value without compression and framing. It keeps no reference to the value.
func (d *Decoder) find(r *record.Record, value []byte, content *article.Content) error {
	if d.Format == FormatText || d.Format == FormatHTML {
		if reject := notUTF8(value); reject != nil {
			return reject
		}
	}
	switch d.Format {
	case FormatText:
		content.Text = string(value)
		return nil
	case FormatHTML:
		content.Text, content.Title = string(value), article.Cut(htmlTitle(value), article.MaxTitleBytes)
		return nil
	}
	if !IsObject(value) {
		return notJSON(value)
	}
	o := newObject(value, r.Headers, make([]member, 0, 32))
	fields := &d.fields
	if id := o.firstID(fields.ID); id != "" {
		content.ID = id
	}
	if slices.ContainsFunc(d.deletes, func(at deletion) bool {
		v := o.get(at.path)
		return v.Type == gjson.String && v.Str == at.value
	}) {
		return record.Reject(record.Deleted, "the %s envelope reports a deletion", d.Preset)
	}
	text, path := o.first(fields.Text)
	switch {
	case path == "":
		return record.Reject(record.NoText, "none of the text fields %q is there", fields.Text)
	case text.Type != gjson.String:
		return record.Reject(record.WrongType, "field %q is not a string: %s", path, excerpt([]byte(text.Raw)))
	}
	if !utf8.ValidString(text.Raw) {
		reject := notUTF8([]byte(text.Raw))
		reject.Detail = fmt.Sprintf("field %q: %s", path, reject.Detail)
		return reject
	}
	content.Text = text.String()
	content.Title = article.Cut(o.firstString(fields.Title), article.MaxTitleBytes)
	content.Publisher = article.Cut(o.firstString(fields.Publisher), article.MaxPublisherBytes)
	// the beginning of an address leads elsewhere
	if url := o.firstString(fields.URL); len(url) <= article.MaxURLBytes {
		content.URL = strings.Clone(url)
	}
	if d.FindPublished {
		content.Published, content.UnreadTime = o.firstTime(fields.Published)
		content.Credit = article.Cut(o.firstString(fields.Credit), article.MaxPublisherBytes)
	}
	return nil
}

// first returns the value of the first path that exists and is neither null nor an empty string, and that path. If all
// are empty, the first of these; "" if there is none.
func (o *object) first(paths []string) (empty gjson.Result, at string) {
	for _, path := range paths {
		v := o.get(path)
		switch {
		case !v.Exists() || v.Type == gjson.Null:
		case v.Type != gjson.String || strings.TrimSpace(v.Str) != "":
			return v, path
		case at == "":
			empty, at = v, path
		}
	}
	return empty, at
}

// firstString returns the first string that is not blank at one of the paths, or "". It may share the memory of the
// object.
func (o *object) firstString(paths []string) string {
	for _, path := range paths {
		if v := o.get(path); v.Type == gjson.String && strings.TrimSpace(v.Str) != "" {
			return v.Str
		}
	}
	return ""
}

// firstTime returns the time at the first path with a readable one, else zero and the first time that cannot be read.
func (o *object) firstTime(paths []string) (at time.Time, unread string) {
	for _, path := range paths {
		at, why := parseTime(o.get(path))
		if !at.IsZero() {
			return at, ""
		}
		unread = cmp.Or(unread, why)
	}
	return time.Time{}, unread
}

// firstID returns the first usable id: a string, a number as it is written, or one of MongoDB's Extended JSON wrappers.
// An id that is longer than article.MaxIDBytes is not usable. It returns "" if there is none.
func (o *object) firstID(paths []string) string {
	for _, path := range paths {
		v := o.get(path)
		if v.IsObject() {
			for _, wrapper := range []string{`$oid`, `$numberLong`, `$uuid`} {
				if w := last(v.Raw[1:], wrapper); w != nil {
					v = w.parsed()
					break
				}
			}
		}
		var id string
		switch v.Type {
		case gjson.String:
			id = v.String()
		case gjson.Number:
			id = v.Raw
		}
		if strings.TrimSpace(id) != "" && len(id) <= article.MaxIDBytes {
			return strings.Clone(id) // it outlives the record
		}
	}
	return ""
}

// htmlTitle returns the content of the first title element, or "".
func htmlTitle(page []byte) string {
	tokens := html.NewTokenizer(bytes.NewReader(page))
	inTitle := false
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			name, _ := tokens.TagName()
			switch atom.Lookup(name) {
			case atom.Title:
				inTitle = true
			case atom.Body:
				return ""
			}
		case html.TextToken:
			if inTitle {
				return string(bytes.TrimSpace(tokens.Text()))
			}
		}
	}
}
