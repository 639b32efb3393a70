package pipeline

import (
	"errors"
	"fmt"
	"strconv"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/simhash"
)

// OutputHeaders is what the headers of a record of an output topic say about the article: the reverse of the headers that Pipeline.Decide
// adds.
type OutputHeaders struct {
	// Verdict is zero for a dead letter. Its Root is zero for a tombstone. Its Destination is the usual one of the kind: the headers do not
	// tell that the policy chose another topic.
	Verdict article.Verdict
	// Fingerprint is nil if the article has little text.
	Fingerprint *simhash.Fingerprint
	// Input are the coordinates of the input record.
	Input article.Coordinates
	// Recipe is the id of the recipe; empty for a dead letter.
	Recipe string
	// Reject says why the record is a dead letter; nil for others.
	Reject *RejectError
}

// ErrNoOutput says that a record does not come from an output topic of Echosieve.
var ErrNoOutput = errors.New("the record has no header " + HeaderInput + ": it is not from an output topic of Echosieve")

// ParseHeaders reads the headers of a record of an output topic. An error names the header that cannot be read, or is ErrNoOutput.
func ParseHeaders(headers []record.Header) (OutputHeaders, error) {
	values := map[string]string{}
	for _, h := range headers {
		values[h.Key] = string(h.Value)
	}
	if _, ok := values[HeaderInput]; !ok {
		return OutputHeaders{}, ErrNoOutput
	}
	d := headerDecoder{values: values}
	p := OutputHeaders{Input: d.coordinates(HeaderInput), Recipe: values[HeaderRecipe]}
	if _, ok := values[HeaderVerdict]; !ok {
		p.Reject = &RejectError{Reason: RejectReason(values[HeaderReason]), Detail: values[HeaderDetail]}
		return p, d.err
	}
	p.Verdict = d.verdict()
	if _, ok := values[HeaderFingerprint]; ok {
		f := decode(&d, HeaderFingerprint, simhash.Parse)
		p.Fingerprint = &f
	}
	return p, d.err
}

// InputOf returns the coordinates of the input record that an output with these headers was made of. The error is ErrNoOutput if the
// headers name none.
func InputOf(headers []record.Header) (article.Coordinates, error) {
	for _, h := range headers {
		if h.Key == HeaderInput {
			return article.ParseCoordinates(string(h.Value))
		}
	}
	return article.Coordinates{}, ErrNoOutput
}

// Restored returns the input record of a record of an output topic, as far as the output holds it: without our headers, and with the
// coordinates of the input record. Incoming headers that had our names are gone.
func (p *OutputHeaders) Restored(r *record.Record) record.Record {
	input := *r
	input.Coordinates, input.Headers = p.Input, withHeaders(r)
	return input
}

// headerDecoder decodes values of headers. After the first error err stays set, and results mean nothing.
type headerDecoder struct {
	values map[string]string
	err    error
}

func (d *headerDecoder) verdict() article.Verdict {
	v := article.Verdict{Kind: decode(d, HeaderVerdict, article.ParseKind)}
	v.Destination = article.Policy{}.Destination(article.Judgement{Kind: v.Kind})
	if v.HasOriginal() {
		v.Reason = decode(d, HeaderReason, article.ParseReason)
		v.Distance = decode(d, HeaderDistance, strconv.Atoi)
		v.Relation = optional(d, HeaderRelation, article.ParseRelation)
		v.Similarity = optional(d, HeaderSimilarity, article.ParseShare)
		v.Contained = optional(d, HeaderContained, article.ParseShare)
		v.Contains = optional(d, HeaderContains, article.ParseShare)
		v.Original = article.Ref{ID: d.values[HeaderOriginalID], Coordinates: d.coordinates(HeaderOriginal)}
	}
	if _, ok := d.values[HeaderRoot]; ok {
		v.Root = article.Ref{ID: d.values[HeaderRootID], Coordinates: d.coordinates(HeaderRoot)}
	}
	return v
}

func (d *headerDecoder) coordinates(name string) article.Coordinates {
	return decode(d, name, article.ParseCoordinates)
}

func decode[T any](d *headerDecoder, name string, parse func(string) (T, error)) T {
	value, err := parse(d.values[name])
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("header %s: %w", name, err)
	}
	return value
}

// optional decodes the value of a header that may be missing.
func optional[T any](d *headerDecoder, name string, parse func(string) (T, error)) (value T) {
	if _, ok := d.values[name]; ok {
		value = decode(d, name, parse)
	}
	return value
}
