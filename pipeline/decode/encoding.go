package decode

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"echosieve/pipeline/record"
)

// signatures are the beginnings of values that are no JSON, and what such a value looks like. The first that
// fits counts.
var signatures = []struct{ prefix, looksLike string }{
	{"\x04\x22\x4d\x18", "lz4: let the producer compress batches (compression.type), not values"},
	{"\xff\x06\x00\x00sNaPpY", "snappy: let the producer compress batches (compression.type), not values"},
	{"Obj\x01", "an Avro file: publish its records, with input.format avro"},
	{"\xc3\x01", "an Avro object with a fingerprint: publish it in the framing of a registry, with input.format avro"},
	{"\xff\xfe", "UTF-16 with a byte order mark: publish UTF-8"},
	{"\xfe\xff", "UTF-16 with a byte order mark: publish UTF-8"},
	{"\xef\xbb\xbf", "UTF-8 with a byte order mark: publish it without the mark"},
	{"{\x00", "UTF-16: publish UTF-8"},
	{"\x00{", "UTF-16: publish UTF-8"},
	{"PK\x03\x04", "a zip file"},
	{"PAR1", "a Parquet file"},
	{"%PDF-", "a PDF file"},
	{"<", "HTML or XML: set input.format to html if the values are pages"},
}

// notObject begins each explanation.
const notObject = "the value is not a JSON object: "

// notJSON says why a value is no JSON object, and where.
func notJSON(value []byte) *record.RejectError {
	if len(value) == 0 {
		return record.Reject(record.NotJSON, notObject+"it is empty")
	}
	for _, s := range signatures {
		if bytes.HasPrefix(value, []byte(s.prefix)) {
			return record.Reject(record.NotJSON, notObject+"it looks like %s", s.looksLike)
		}
	}
	if value[0] == 0 && len(value) >= schemaFraming {
		return record.Reject(record.NotJSON, notObject+
			"it looks like a schema registry's framing, schema id %d: set input.framing to confluent, and "+
			"input.format to avro unless JSON follows", binary.BigEndian.Uint32(value[1:]))
	}
	if reject := notUTF8(value); reject != nil {
		return reject
	}
	if deeperThan(value, maxDepth) {
		return record.Reject(record.NotJSON, notObject+"it is nested deeper than %d levels", maxDepth)
	}
	var whole json.RawMessage
	if syntax, is := errors.AsType[*json.SyntaxError](json.Unmarshal(value, &whole)); is {
		if at := int(syntax.Offset) - 1; at >= 0 && at < len(value) &&
			syntax.Error() != "unexpected end of JSON input" {
			remedy := ""
			if value[at] == 'N' || value[at] == 'I' {
				remedy = "; NaN and Infinity are no JSON: write null, as jq -c . does"
			}
			return record.Reject(record.NotJSON, notObject+"%s at byte %d: %s%s", syntax, at, excerpt(value[at:]), remedy)
		}
		return record.Reject(record.NotJSON, notObject+"it is cut off after %d bytes", len(value))
	}
	return record.Reject(record.NotJSON, notObject+"it is %s", excerpt(bytes.TrimLeft(value, " \t\r\n")))
}

// excerpt quotes the beginning of foreign bytes.
func excerpt(b []byte) string { return strconv.QuoteToASCII(string(b[:min(len(b), 16)])) }

// notUTF8 says where a text is no UTF-8. It returns nil for UTF-8.
func notUTF8(text []byte) *record.RejectError {
	if utf8.Valid(text) {
		return nil
	}
	at := 0
	for r, size := utf8.DecodeRune(text); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(text[at:]) {
		at += size
	}
	said := "another encoding: publish UTF-8"
	kept := bytes.ToValidUTF8(text, nil)
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		said = "UTF-16: publish UTF-8"
	case len(kept)-utf8.RuneCount(kept) > 2*(len(text)-len(kept)):
		said = "UTF-8 with damaged characters, perhaps cut in the middle"
	}
	return record.Reject(record.NotUTF8, "no UTF-8 at byte %d: %s; it looks like %s", at, excerpt(text[at:]), said)
}
