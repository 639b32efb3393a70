package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"

	"github.com/tidwall/gjson"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// RejectReason says why a record became a dead letter. Reasons are label values of metrics, so the list below is complete.
type RejectReason string

// The reasons for dead letters.
const (
	NotJSON   RejectReason = "not_json"   // the value is no JSON object
	NotAvro   RejectReason = "not_avro"   // the value does not fit its Avro schema
	NoSchema  RejectReason = "no_schema"  // there is no Avro schema for the value
	NotUTF8   RejectReason = "not_utf8"   // the text is in another encoding
	NoText    RejectReason = "no_text"    // no text field, or a null one
	WrongType RejectReason = "wrong_type" // the text field is not a string
	EmptyText RejectReason = "empty_text" // nothing is left after cleaning
	TooLarge  RejectReason = "too_large"  // with our headers, the record would be too large for an output topic
	Timestamp RejectReason = "timestamp"  // an output topic takes no record with this timestamp
	Refused   RejectReason = "refused"    // an output topic takes no such record for another reason
	// Deleted is the reason of Decode only: Prepare treats the record as one with a null value.
	Deleted RejectReason = "deleted" // the envelope reports a deletion
)

// RejectError says why a record can never be processed. The input is bad; trying again does not help.
type RejectError struct {
	Reason RejectReason
	Detail string
}

func (e *RejectError) Error() string { return string(e.Reason) + ": " + e.Detail }

// IsDeletion says whether the envelope of the record reports a deletion. Such a record counts as one with a null value and is no dead letter.
func (e *RejectError) IsDeletion() bool { return e != nil && e.Reason == Deleted }

// Decode finds the article in a record's value. For a record that is rejected because of its text, it still returns the id. It is safe for
// concurrent use and takes time linear in the length of the value. If a schema cannot be had for schemaTimeout, the record is rejected.
func (c *DecodeConfig) Decode(r *record.Record) (article.Content, *RejectError) {
	ctx := context.Background()
	if c.Format == FormatAvro {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, schemaTimeout)
		defer cancel()
	}
	content, reject, err := c.decode(ctx, r)
	if err != nil {
		return content, &RejectError{NoSchema, err.Error()}
	}
	return content, reject
}

// decode is Decode, and returns an error if the server of schemas did not answer.
func (c *DecodeConfig) decode(ctx context.Context, r *record.Record) (article.Content, *RejectError, error) {
	content := article.Content{ID: r.String()}
	value, schema, reject := c.unwrap(r)
	var err error
	if c.Format == FormatAvro && reject == nil {
		value, reject, err = c.fromAvro(ctx, schema, value)
	}
	if err == nil && reject == nil {
		reject = c.find(r, value, &content)
	}
	return content, reject, err
}

// find finds the article in a value that is unwrapped.
func (c *DecodeConfig) find(r *record.Record, value []byte, content *article.Content) *RejectError {
	if c.Format == FormatText || c.Format == FormatHTML {
		if reject := notUTF8(value); reject != nil {
			return reject
		}
	}
	switch c.Format {
	case FormatText:
		content.Text = string(value)
		return nil
	case FormatHTML:
		content.Text, content.Title = string(value), htmlTitle(value)
		return nil
	}
	if !validObject(value) {
		return notJSON(value)
	}
	o := newObject(value, r.Headers, make([]member, 0, 32))
	fields := c.paths()
	if id := o.firstID(fields.ID); id != "" {
		content.ID = id
	}
	if c.deletes(&o) {
		return &RejectError{Deleted, fmt.Sprintf("the %s envelope reports a deletion", c.Preset)}
	}
	text, path := o.first(fields.Text)
	switch {
	case path == "":
		return &RejectError{NoText, fmt.Sprintf("none of the text fields %q is there", fields.Text)}
	case text.Type != gjson.String:
		return &RejectError{WrongType, fmt.Sprintf("field %q is a JSON %s, not a string", path, typeName(text))}
	}
	if !utf8.ValidString(text.Raw) {
		reject := notUTF8([]byte(text.Raw))
		reject.Detail = fmt.Sprintf("field %q: %s", path, reject.Detail)
		return reject
	}
	content.Text = text.String()
	content.Title = o.firstString(fields.Title)
	content.Publisher = o.firstString(fields.Publisher)
	content.URL = o.firstString(fields.URL)
	return nil
}

// first returns the value of the first path that exists and is not null, and that path; "" if there is none.
func (o *object) first(paths []string) (gjson.Result, string) {
	for _, path := range paths {
		if v := o.get(path); v.Exists() && v.Type != gjson.Null {
			return v, path
		}
	}
	return gjson.Result{}, ""
}

// firstString returns the string at the first path that exists, or "" if there is none or it is not a string.
func (o *object) firstString(paths []string) string {
	if v, _ := o.first(paths); v.Type == gjson.String {
		return strings.Clone(v.Str)
	}
	return ""
}

// firstID returns the first usable id: a string, a number as it is written, or one of MongoDB's Extended JSON wrappers. An id that is longer
// than article.MaxIDBytes is not usable. It returns "" if there is none.
func (o *object) firstID(paths []string) string {
	for _, path := range paths {
		v := o.get(path)
		if v.IsObject() {
			for _, wrapper := range []string{`\$oid`, `\$numberLong`, `\$uuid`} {
				if w := v.Get(wrapper); w.Exists() {
					v = w
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
		if id != "" && len(id) <= article.MaxIDBytes {
			return strings.Clone(id) // it outlives the record
		}
	}
	return ""
}

func typeName(v gjson.Result) string {
	switch {
	case v.IsArray():
		return "array"
	case v.IsObject():
		return "object"
	case v.IsBool():
		return "boolean"
	default:
		return "number"
	}
}

// maxDepth is the deepest nesting of a JSON value that is decoded. gjson (1.20) validates recursively: without a bound, a record that
// consists of brackets would take stack memory for each bracket, and a stack overflow ends the process.
const maxDepth = 1000

func validObject(value []byte) bool {
	trimmed := bytes.TrimLeft(value, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && !deeperThan(value, maxDepth) && gjson.ValidBytes(value)
}

// deeperThan reports whether brackets outside strings are nested deeper than limit.
func deeperThan(value []byte, limit int) bool {
	if bytes.Count(value, []byte{'{'})+bytes.Count(value, []byte{'['}) <= limit {
		return false
	}
	depth, inString := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
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
