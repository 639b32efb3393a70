package decode

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

// An id may be any JSON value, such as MongoDB's Extended JSON. Whatever it is, the article is decoded, and
// its id is one that the index can store.
func FuzzExtendedJSON(f *testing.F) {
	for _, id := range []string{
		`{"$oid":"65a0"}`, `{"$numberLong":"77"}`, `{"$uuid":"x"}`, `{"$oid":{"$oid":1}}`, `{"$oid":null}`,
		`{"$date":{"$numberLong":"1"}}`,
		`"\ud800"`, `""`, "\"\xff\"", `1e999999`, `-0`, `[]`, `{"\u0024oid":"a"}`, `{"$oid":"a","$oid":"b"}`,
		`"` + strings.Repeat("i", 600) + `"`,
		strings.Repeat("[", 1001) + strings.Repeat("]", 1001),
	} {
		f.Add(id)
	}
	cfg := DefaultConfig()
	f.Fuzz(func(t *testing.T, id string) {
		doc, reject := cfg.Decode(recordOf(`{"_id":` + id + `,"text":"x"}`))
		if doc.ID == "" || len(doc.ID) > article.MaxIDBytes {
			t.Fatalf("id %q", doc.ID)
		}
		if reject != nil && json.Valid([]byte(id)) && !deeperThan([]byte(id), maxDepth-1) &&
			!strings.Contains(id, "text") {
			t.Fatalf("rejected: %v", reject)
		}
	})
}

// A value is an article or a dead letter, never both. The decoder accepts as JSON what encoding/json accepts.
func FuzzJSON(f *testing.F) {
	for _, value := range []string{
		`{"text":"a","text":"b"}`, `{"text":"a"}{}`, "{\"text\":\"a\x00\"}", `{"text":"\u0000"}`, `{"te\u0078t":"a"}`,
		`{"text":1e5}`, `{"text":01}`,
		`{"text":"\ud800\udc00"}`, `{"":{"text":"a"}}`, `{"text":"a",}`, "\ufeff{}", `{"text":tru}`,
		"{\"text\":\"\xed\xa0\x80\"}",
		strings.Repeat(`{"text":`, 1001), strings.Repeat("[", 5000),
	} {
		f.Add([]byte(value))
	}
	cfg := DefaultConfig()
	f.Fuzz(func(t *testing.T, value []byte) {
		doc, reject := cfg.Decode(recordOf(string(value)))
		if reject != nil && (doc.Text != "" || reject.Detail == "") {
			t.Fatalf("%v with text %q", reject, doc.Text)
		}
		isObject := json.Valid(value) && strings.HasPrefix(strings.TrimLeft(string(value), " \t\r\n"), "{")
		allowed := isObject
		switch {
		case reject == nil:
		case reject.Reason == record.NotJSON:
			allowed = !isObject || deeperThan(value, maxDepth)
		case reject.Reason == record.NotUTF8: // an object whose text is no UTF-8, or no object
			allowed = !utf8.Valid(value)
		}
		if !allowed {
			t.Fatalf("%q: %v, is an object: %t", value, reject, isObject)
		}
	})
}

// With the format html, any UTF-8 is an article, with or without a title.
func FuzzHTMLValue(f *testing.F) {
	for _, page := range []string{
		"<title>a</title>", "<title>a", "<TITLE a=b>&amp;&#0;&#xd800;</title>", "<body><title>a</title>",
		"<title><title>", "<!--<title>a</title>",
		"<svg><title>a</title>", "\x00<title>\xff</title>", strings.Repeat("<a ", 500), strings.Repeat("&", 500),
		"<script><title>a</title></script>",
	} {
		f.Add([]byte(page))
	}
	cfg := Config{Format: FormatHTML}
	f.Fuzz(func(t *testing.T, page []byte) {
		doc, reject := cfg.Decode(recordOf(string(page)))
		if !utf8.Valid(page) {
			if reject == nil || reject.Reason != record.NotUTF8 || doc.Text != "" || doc.ID == "" {
				t.Fatalf("%v %+v", reject, doc)
			}
			return
		}
		if reject != nil || doc.Text != string(page) || doc.ID == "" {
			t.Fatalf("%v %+v", reject, doc)
		}
		if len(doc.Title) > 4*len(page) {
			t.Fatalf("title of %d bytes from %d", len(doc.Title), len(page))
		}
	})
}

// One pass over an object finds what gjson finds at each path.
func FuzzObject(f *testing.F) {
	for _, value := range []string{
		`{"text":"a","text":"b"}`, `{"te\u0078t":"a","x":{"text":[1,"text"]}}`,
		` {"a" : [ {"text":"}"} ] , "text" : "\"\\" }`, `{"text":null,"text":1}`,
		`{"":1,"text":-1.5e3,"id":true}`, `{"text":"\ud800","id":{"$oid":"a"}}`, "{\"text\":\"\xff\"}",
		`{"a":1,` + strings.Repeat(`"b":2,`, 2*maxMembers) + `"a":3,"text":"x"}`,
	} {
		f.Add([]byte(value), "text")
	}
	f.Fuzz(func(t *testing.T, value []byte, path string) {
		if !IsObject(value) {
			return
		}
		o := newObject(value, nil, nil)
		for _, path := range []string{path, "text", "id", "a"} {
			if strings.HasPrefix(path, headerPath) {
				continue
			}
			got, want := o.get(path), gjson.GetBytes(value, path)
			if got.Type != want.Type || got.String() != want.String() || got.Raw != want.Raw {
				t.Fatalf("%q at %q: %v, gjson %v", value, path, got, want)
			}
		}
	})
}
