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

// A value is an article or a dead letter, never both. The decoder accepts as JSON what encoding/json accepts. Whatever
// the id is, such as one of MongoDB's Extended JSON, the article has an id that the index can store.
func FuzzDecode(f *testing.F) {
	for _, value := range []string{
		`{"text":"a","text":"b"}`, `{"text":"a"}{}`, "{\"text\":\"a\x00\"}", `{"text":"\u0000"}`, `{"te\u0078t":"a"}`,
		`{"text":1e5}`, `{"text":01}`,
		`{"text":"\ud800\udc00"}`, `{"":{"text":"a"}}`, `{"text":"a",}`, "\ufeff{}", `{"text":tru}`,
		"{\"text\":\"\xed\xa0\x80\"}",
		strings.Repeat(`{"text":`, 1001), strings.Repeat("[", 5000),
		`{"_id":{"$oid":"65a0"},"text":"x"}`, `{"_id":{"$oid":{"$oid":1}},"text":"x"}`, `{"_id":"\ud800","text":"x"}`,
		`{"_id":{"$date":{"$numberLong":"1"}},"text":"x"}`, `{"id":1e999999,"text":"x"}`,
		`{"_id":"` + strings.Repeat("i", 600) + `","text":"x"}`,
	} {
		f.Add([]byte(value))
	}
	cfg := DefaultConfig()
	f.Fuzz(func(t *testing.T, value []byte) {
		doc, reject := cfg.Decode(recordOf(string(value)))
		if reject != nil && (doc.Text != "" || reject.Detail == "") {
			t.Fatalf("%v with text %q", reject, doc.Text)
		}
		if reject == nil && (doc.ID == "" || len(doc.ID) > article.MaxIDBytes) {
			t.Fatalf("id %q", doc.ID)
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
