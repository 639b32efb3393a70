package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/simhash"
)

// Output is one record to publish.
type Output struct {
	Record      *record.Record // the input record
	Destination article.Destination
	// Key, Value, Headers and Time are those of the published record: the input record's, with our headers behind its
	// own. Value can hold the verdict, and is nil in the topic of a shadow. A dead letter that is too large for the dead
	// topic has a nil Value, and the input coordinates in its headers tell where to find the value; if it still is too
	// large, Key is nil as well. Its Time is another one if the topic would refuse the record's.
	Key, Value []byte
	Headers    []record.Header
	Time       time.Time
	// Smallest says that the output has the smallest form of a dead letter: a topic that refuses this form
	// takes no record at all.
	Smallest bool
	// Content is the article's, without its text and its URL. It is zero for tombstones and dead letters.
	Content article.Content
	// Verdict is zero for dead letters.
	Verdict article.Verdict
	// Reason names the test that decided, or why the record is a dead letter. It is a label value of the metrics.
	Reason string
	// Detail explains the reason of a dead letter.
	Detail string
	// LeftOut is the article's, see article.Article.LeftOut.
	LeftOut float64
}

// NewOutput returns an output that publishes the record as it is, but without its headers.
func NewOutput(r *record.Record, to article.Destination) Output {
	return Output{Record: r, Destination: to, Key: r.Key, Value: r.Value, Time: r.Time}
}

// VerdictName returns the verdict as the metrics and the console show it: "dead" for a dead letter, otherwise
// the name of its kind.
func (o *Output) VerdictName() string {
	if o.Verdict.Kind == 0 {
		return article.ToDead.String()
	}
	return o.Verdict.Kind.String()
}

// Names of the headers that we add, documented in docs/output.md.
const (
	HeaderVerdict      = "echosieve-verdict"
	HeaderFingerprint  = "echosieve-fingerprint"
	HeaderDistance     = "echosieve-distance"
	HeaderRelation     = "echosieve-relation"
	HeaderSimilarity   = "echosieve-similarity"
	HeaderContained    = "echosieve-contained"
	HeaderContains     = "echosieve-contains"
	HeaderOriginalID   = "echosieve-original-id"
	HeaderOriginal     = "echosieve-original"
	HeaderRootID       = "echosieve-root-id"
	HeaderRoot         = "echosieve-root"
	HeaderInput        = "echosieve-input"
	HeaderRecipe       = "echosieve-recipe"
	HeaderLeftOut      = "echosieve-left-out"
	HeaderReason       = "echosieve-reason"
	HeaderDetail       = "echosieve-detail"
	HeaderValueOmitted = "echosieve-value-omitted"
	HeaderTime         = "echosieve-time"
	HeaderShadow       = "echosieve-shadow"
	HeaderTraceparent  = "echosieve-traceparent"
)

// isOwnHeader says whether a name is reserved for our headers, in any case: nobody can hand one in, except HeaderRelease.
func isOwnHeader(name string) bool {
	const prefix = "echosieve-"
	return name != HeaderRelease && len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}

// Upper bounds of the bytes that our headers and the record framing add to a record. Kafka's topic names have
// at most 249 bytes.
const (
	maxCoordinatesBytes   = 249 + len("/2147483647/9223372036854775807")
	maxVerdictHeaderBytes = 3*maxCoordinatesBytes + 2*article.MaxIDBytes + 640
	maxDetailBytes        = 256
	maxDeadHeaderBytes    = maxCoordinatesBytes + maxDetailBytes + 640
)

// withHeaders returns the record's headers without any that begin with echosieve-, followed by our headers.
func withHeaders(r *record.Record, ours ...record.Header) []record.Header {
	headers := make([]record.Header, 0, len(r.Headers)+len(ours))
	for _, h := range r.Headers {
		if !isOwnHeader(h.Key) {
			headers = append(headers, h)
		}
	}
	return append(headers, ours...)
}

func header(key, value string) record.Header { return record.Header{Key: key, Value: []byte(value)} }

// verdictOutput builds the output of an article with its verdict.
func verdictOutput(r *record.Record, a *article.Article, v *article.Verdict, recipeID string) Output {
	out := NewOutput(r, v.Destination)
	out.Verdict, out.Reason, out.LeftOut = *v, v.Reason.String(), a.LeftOut()
	ours := make([]record.Header, 0, 15)
	ours = append(ours, header(HeaderVerdict, v.Kind.String()))
	if !a.LittleText {
		ours = append(ours, header(HeaderFingerprint, a.Fingerprint.String()))
	}
	if v.Kind != article.Unique {
		ours = append(ours, header(HeaderReason, v.Reason.String()), header(HeaderDistance, strconv.Itoa(v.Distance)))
		ours = append(likenessHeaders(ours, v.Likeness), header(HeaderOriginalID, v.Original.ID),
			header(HeaderOriginal, v.Original.String()))
	} else if a.Released {
		out.Reason = reasonReleased
		ours = append(ours, header(HeaderReason, reasonReleased))
	}
	ours = append(ours,
		header(HeaderRootID, v.Root.ID),
		header(HeaderRoot, v.Root.String()),
		header(HeaderInput, r.String()),
		header(HeaderRecipe, recipeID))
	if out.LeftOut > 0 {
		ours = append(ours, header(HeaderLeftOut, strconv.FormatFloat(out.LeftOut, 'f', 2, 64)))
	}
	out.Headers = withHeaders(r, ours...)
	return out
}

// likenessHeaders appends the headers of a likeness. The classic recipes tell no likeness: then only the
// relation by the id is known.
func likenessHeaders(dst []record.Header, l article.Likeness) []record.Header {
	if l.Relation != article.RelationNone {
		dst = append(dst, header(HeaderRelation, l.Relation.String()))
	}
	if l.Similarity == 0 {
		return dst
	}
	return append(dst,
		header(HeaderSimilarity, l.Similarity.String()),
		header(HeaderContained, l.Contained.String()),
		header(HeaderContains, l.Contains.String()))
}

// tombstoneOutput passes a record with a null value on to the unique topic. A record without text repeats nothing.
func tombstoneOutput(r *record.Record, recipeID string) Output {
	out := NewOutput(r, article.ToUnique)
	out.Verdict.Kind, out.Reason = article.Unique, "tombstone"
	out.Headers = withHeaders(r,
		header(HeaderVerdict, article.Unique.String()),
		header(HeaderInput, r.String()),
		header(HeaderRecipe, recipeID))
	return out
}

// deadOutput builds a dead letter. If the record is too large for the dead topic, its value is omitted; if it
// is still too large, its key and its own headers are omitted as well. The rest always fits.
func deadOutput(r *record.Record, reject *record.RejectError, maxBytes int) Output {
	detail := reject.Detail
	if len(detail) > maxDetailBytes {
		detail = strings.ToValidUTF8(detail[:maxDetailBytes], "") // the cut may be within a character
	}
	ours := []record.Header{
		header(HeaderReason, string(reject.Reason)),
		header(HeaderDetail, detail),
		header(HeaderInput, r.String()),
	}
	out := NewOutput(r, article.ToDead)
	out.Reason, out.Detail = string(reject.Reason), detail
	size := recordBytes(r) + maxDeadHeaderBytes
	kept := r
	if size > maxBytes {
		out.Value = nil
		ours = append(ours, header(HeaderValueOmitted, strconv.Itoa(r.ValueBytes())))
		if size-r.ValueBytes() > maxBytes {
			out.Key = nil
			kept = &record.Record{}
		}
	}
	out.Headers = withHeaders(kept, ours...)
	return out
}

// restamp gives a dead letter the time of writing, and keeps the record's own time in a header.
func (o *Output) restamp(now time.Time) {
	o.Time = now
	o.Headers = append(o.Headers, header(HeaderTime, formatTime(o.Record.Time)))
}

// smallestDead returns a dead letter in the form that every topic takes that takes any record: without the
// record's value and headers, with the coordinates as its key, which a compacted topic needs, and with the
// time of writing. The destination stays.
func smallestDead(out *Output, now time.Time) Output {
	small := *out
	small.Key, small.Value, small.Headers, small.Smallest = []byte(out.Record.String()), nil, nil, true
	for _, h := range out.Headers {
		if isOwnHeader(h.Key) && h.Key != HeaderValueOmitted && h.Key != HeaderTime {
			small.Headers = append(small.Headers, h)
		}
	}
	small.Headers = append(small.Headers, header(HeaderValueOmitted, strconv.Itoa(out.Record.ValueBytes())))
	small.restamp(now)
	return small
}

// recordBytes is an upper bound of the record's size in Kafka's format, without our headers.
func recordBytes(r *record.Record) int {
	const framing = 128 // batch header 61, record varints
	n := r.Size()
	switch {
	case r.Oversize != nil && r.Oversize.Batch > 0:
		n = math.MaxInt32 // more than any limit, so that value, key and headers count as omitted
	case r.Oversize != nil:
		n = int(r.Oversize.Bytes)
	}
	return n + framing + 10*len(r.Headers)
}

// OutputHeaders is what the headers of a record of an output topic say about the article: the reverse of the
// headers that Pipeline.Decide adds.
type OutputHeaders struct {
	// Verdict is zero for a dead letter. Its Root is zero for a tombstone. Its Destination is the usual one
	// of the kind: the headers do not tell that the policy chose another topic.
	Verdict article.Verdict
	// Fingerprint is nil if the article has little text.
	Fingerprint *simhash.Fingerprint
	// Input are the coordinates of the input record.
	Input article.Coordinates
	// Recipe is the id of the recipe; empty for a dead letter.
	Recipe string
	// Reject says why the record is a dead letter; nil for others.
	Reject *record.RejectError
}

// ErrNoOutput says that a record does not come from an output topic of Echosieve.
var ErrNoOutput = errors.New("the record has no header " + HeaderInput +
	": it is not from an output topic of Echosieve")

// ParseHeaders reads the headers of a record of an output topic. An error names the header that cannot be
// read, or is ErrNoOutput.
func ParseHeaders(headers []record.Header) (OutputHeaders, error) {
	d := headerDecoder{headers: headers}
	if !d.has(HeaderInput) {
		return OutputHeaders{}, ErrNoOutput
	}
	p := OutputHeaders{Input: d.coordinates(HeaderInput), Recipe: d.value(HeaderRecipe)}
	if !d.has(HeaderVerdict) {
		p.Reject = record.Reject(record.RejectReason(d.value(HeaderReason)), "%s", d.value(HeaderDetail))
		return p, d.err
	}
	p.Verdict = d.verdict()
	if d.has(HeaderFingerprint) {
		f := parsed(&d, HeaderFingerprint, simhash.Parse)
		p.Fingerprint = &f
	}
	return p, d.err
}

// InputOf returns the coordinates of the input record that an output with these headers was made of. The
// error is ErrNoOutput if the headers name none.
func InputOf(headers []record.Header) (article.Coordinates, error) {
	for _, h := range headers {
		if h.Key == HeaderInput {
			return article.ParseCoordinates(string(h.Value))
		}
	}
	return article.Coordinates{}, ErrNoOutput
}

// Restored returns the input record of a record of an output topic, as far as the output holds it: without
// our headers, and with the coordinates of the input record. Incoming headers that had our names are gone.
func (p *OutputHeaders) Restored(r *record.Record) record.Record {
	input := *r
	input.Coordinates, input.Headers = p.Input, withHeaders(r)
	return input
}

// headerDecoder decodes values of headers. After the first error err stays set, and results mean nothing.
type headerDecoder struct {
	headers []record.Header
	err     error
}

// find returns the place of the last header of a name, or -1.
func (d *headerDecoder) find(name string) int {
	for i := range slices.Backward(d.headers) {
		if d.headers[i].Key == name {
			return i
		}
	}
	return -1
}

func (d *headerDecoder) has(name string) bool { return d.find(name) >= 0 }

func (d *headerDecoder) value(name string) string {
	if i := d.find(name); i >= 0 {
		return string(d.headers[i].Value)
	}
	return ""
}

func (d *headerDecoder) verdict() article.Verdict {
	v := article.Verdict{Kind: parsed(d, HeaderVerdict, article.ParseKind)}
	v.Destination = article.Policy{}.Destination(article.Judgement{Kind: v.Kind})
	if v.HasOriginal() {
		v.Reason = parsed(d, HeaderReason, article.ParseReason)
		v.Distance = parsed(d, HeaderDistance, strconv.Atoi)
		v.Relation = optional(d, HeaderRelation, article.ParseRelation)
		v.Similarity = optional(d, HeaderSimilarity, article.ParseShare)
		v.Contained = optional(d, HeaderContained, article.ParseShare)
		v.Contains = optional(d, HeaderContains, article.ParseShare)
		v.Original = article.Ref{ID: d.value(HeaderOriginalID), Coordinates: d.coordinates(HeaderOriginal)}
	}
	if d.has(HeaderRoot) {
		v.Root = article.Ref{ID: d.value(HeaderRootID), Coordinates: d.coordinates(HeaderRoot)}
	}
	return v
}

func (d *headerDecoder) coordinates(name string) article.Coordinates {
	return parsed(d, name, article.ParseCoordinates)
}

func parsed[T any](d *headerDecoder, name string, parse func(string) (T, error)) T {
	value, err := parse(d.value(name))
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("header %s: %w", name, err)
	}
	return value
}

// optional decodes the value of a header that may be missing.
func optional[T any](d *headerDecoder, name string, parse func(string) (T, error)) (value T) {
	if d.has(name) {
		value = parsed(d, name, parse)
	}
	return value
}
