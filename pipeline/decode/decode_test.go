package decode

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

func recordOf(value string) *record.Record {
	return &record.Record{
		Coordinates: article.Coordinates{Topic: "articles", Partition: 2, Offset: 41},
		Value:       []byte(value), Time: time.UnixMilli(1_700_000_000_000),
	}
}

func TestDecodeJSON(t *testing.T) {
	cfg := DefaultConfig()
	own := "articles/2/41"
	for name, c := range map[string]struct {
		value string
		want  article.Content
	}{
		"all fields": {`{"id":"a1","title":"T","text":"x","source":"S","url":"u"}`,
			article.Content{ID: "a1", Title: "T", Text: "x", Publisher: "S", URL: "u"}},
		"no id":           {`{"text":"x"}`, article.Content{ID: own, Text: "x"}},
		"content":         {`{"id":"a","content":"x"}`, article.Content{ID: "a", Text: "x"}},
		"body, text null": {`{"id":"a","text":null,"body":"x"}`, article.Content{ID: "a", Text: "x"}},
		"object id":       {`{"_id":{"$oid":"65a0"},"text":"x"}`, article.Content{ID: "65a0", Text: "x"}},
		"long id":         {`{"_id":{"$numberLong":"77"},"text":"x"}`, article.Content{ID: "77", Text: "x"}},
		"numeric id": {`{"id":12345678901234567890,"text":"x"}`,
			article.Content{ID: "12345678901234567890", Text: "x"}},
		"url as id": {`{"url":"http://a/b","text":"x"}`, article.Content{ID: "http://a/b", Text: "x",
			URL: "http://a/b"}},
		"blank id": {`{"id":"","_id":" ","source":" ","publisher":"p","text":"x"}`,
			article.Content{ID: own, Text: "x", Publisher: "p"}},
		"too long an id": {`{"id":"` + strings.Repeat("i", article.MaxIDBytes+1) + `","text":"x"}`,
			article.Content{ID: own, Text: "x"}},
		"title not string": {`{"id":"a","title":7,"text":"x"}`, article.Content{ID: "a", Text: "x"}},
		"escapes": {`{"id":"a","text":"\u4e2d\u56fd\n\ud83d\ude00"}`, article.Content{ID: "a",
			Text: "中国\n😀"}},
		"leading space": {" \n{\"id\":\"a\",\"text\":\"x\"}", article.Content{ID: "a", Text: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, reject := cfg.Decode(recordOf(c.value))
			require.Nil(t, reject)
			require.Equal(t, c.want, got)
		})
	}
}

func TestDecodeRejects(t *testing.T) {
	cfg := DefaultConfig()
	for name, c := range map[string]struct {
		value string
		want  record.RejectReason
	}{
		"two values":  {`{"text":"x"} {}`, record.NotJSON},
		"no text":     {`{"id":"a"}`, record.NoText},
		"null text":   {`{"text":null}`, record.NoText},
		"number":      {`{"text":5}`, record.WrongType},
		"array text":  {`{"text":["a"]}`, record.WrongType},
		"object text": {`{"text":{}}`, record.WrongType},
		"boolean":     {`{"text":true,"body":"x"}`, record.WrongType},
	} {
		t.Run(name, func(t *testing.T) {
			_, reject := cfg.Decode(recordOf(c.value))
			require.NotNil(t, reject)
			require.Equal(t, c.want, reject.Reason)
			require.NotEmpty(t, reject.Detail)
		})
	}
}

func TestDecodeOtherFormats(t *testing.T) {
	page := `<html><head><title> A &amp; B </title></head><body>text</body></html>`
	text := Config{Format: FormatText}
	doc, reject := text.Decode(recordOf("any bytes"))
	require.Nil(t, reject)
	require.Equal(t, article.Content{ID: "articles/2/41", Text: "any bytes"}, doc)
	html := Config{Format: FormatHTML}
	doc, reject = html.Decode(recordOf(page))
	require.Nil(t, reject)
	require.Equal(t, article.Content{ID: "articles/2/41", Title: "A & B", Text: page}, doc)
}

func TestValidate(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())
	for name, breakIt := range map[string]func(*Config){
		"format":      func(c *Config) { c.Format = "xml" },
		"fields.text": func(c *Config) { c.Fields.Text = nil },
	} {
		cfg := DefaultConfig()
		breakIt(&cfg)
		require.ErrorContains(t, cfg.Validate(), name)
	}
}

// Values may be nested as deep as SECURITY.md says, including the object itself, and not deeper. Brackets in
// strings do not count.
func TestDepth(t *testing.T) {
	cfg := DefaultConfig()
	nested := func(depth int) string {
		return `{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `,"b":"` +
			strings.Repeat("[", 5000) + `\"{","text":"x"}`
	}
	_, reject := cfg.Decode(recordOf(nested(1000)))
	require.Nil(t, reject)
	_, reject = cfg.Decode(recordOf(nested(1001)))
	require.Equal(t, record.NotJSON, reject.Reason)
}

func TestWhatIsNoJSONSaysWhatItLooksLike(t *testing.T) {
	cfg := DefaultConfig()
	for _, c := range []struct{ value, detail string }{
		{"\x00\x00\x00\x01\x2c{\"text\":\"x\"}", "schema id 300"},
		{"\x1f\x8b\x08\x00\x00", "gzip"},
		{"\x28\xb5\x2f\xfd\x04", "zstd"},
		{"\x04\x22\x4d\x18", "lz4"},
		{"Obj\x01\x04", "Avro"},
		{"\xff\xfe{\x00", "UTF-16"},
		{"\xfe\xff\x00{", "UTF-16"},
		{"\x00{\x00\"", "UTF-16"},
		{"{\x00\"\x00", "UTF-16"},
		{"\xef\xbb\xbf{}", "byte order mark"},
		{"<html>", "input.format"},
		{`{"text":"abc","score":NaN}`, `at byte 22: "NaN}"`},
		{`{"text": "abc", "n":NaN}`, `at byte 20: "NaN}"`},
		{`{"text":"x",}`, "at byte 12"},
		{`{'text':'x'}`, "at byte 1"},
		{"{\"text\":\"a\nb\"}", "at byte 10"},
		{`{"text":"cut`, "cut off after 12 bytes"},
		{`["x"]`, `it is "[\"x\"]"`},
		{` "x"`, `it is "\"x\""`},
		{"", "empty"},
		{"a headline", "at byte 0"},
		{`{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, "deeper than 1000"},
	} {
		_, reject := cfg.Decode(recordOf(c.value))
		require.NotNil(t, reject, "%q", c.value)
		require.Equal(t, record.NotJSON, reject.Reason, "%q", c.value)
		require.Contains(t, reject.Detail, c.detail, "%q", c.value)
		require.LessOrEqual(t, len(reject.Detail), 256)
	}
}

func TestTextInAnotherEncodingIsADeadLetter(t *testing.T) {
	latin1 := "Der B\xfcrgermeister er\xf6ffnete die neue Br\xfccke \xfcber den Flu\xdf."
	gbk := "\xb8\xdb\xce\xf1\xbe\xd6\xd7\xf2\xc8\xd5\xd0\xfb\xb2\xbc\xa3\xac" +
		"\xd0\xc2\xb5\xc4\xbc\xaf\xd7\xb0\xcf\xe4\xc2\xeb\xcd\xb7\xa1\xa3"
	cyrillic := "\xcd\xee\xe2\xfb\xe9 \xec\xee\xf1\xf2 \xf7\xe5\xf0\xe5\xe7 \xf0\xe5\xea\xf3 " +
		"\xee\xf2\xea\xf0\xfb\xeb\xe8 \xe2\xf7\xe5\xf0\xe0"
	cut := strings.Repeat("港务局昨日宣布", 5)
	cut = cut[:len(cut)-1]
	var wide []byte
	for _, u := range utf16.Encode([]rune("\ufeffThe board voted.")) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	for _, c := range []struct{ text, guess string }{
		{latin1, "like another encoding"}, {"caf\xe9", "looks like"}, {gbk, "like another encoding"}, {cyrillic, "like another encoding"},
		{cut, "UTF-8 with damaged"}, {string(wide), "like UTF-16"},
	} {
		for _, cfg := range []Config{DefaultConfig(), {Format: FormatText}, {Format: FormatHTML}} {
			value := c.text
			if cfg.Format == FormatJSON {
				if c.guess == "like UTF-16" {
					continue // its zero bytes make it no JSON
				}
				value = `{"id":"a1","text":"` + c.text + `"}`
			}
			content, reject := cfg.Decode(recordOf(value))
			require.NotNil(t, reject, "%q", value)
			require.Equal(t, record.NotUTF8, reject.Reason, "%q", value)
			require.Contains(t, reject.Detail, c.guess, "%q", value)
			require.NotEmpty(t, content.ID)
		}
	}
	// A byte in a field that is not used harms nobody.
	cfg := DefaultConfig()
	_, reject := cfg.Decode(recordOf("{\"text\":\"x\",\"footer\":\"\xfc\"}"))
	require.Nil(t, reject)
	// Bytes of GBK can be those of JSON's syntax.
	_, reject = cfg.Decode(recordOf("{\"text\":\"\x95\x5c\"}"))
	require.Equal(t, record.NotUTF8, reject.Reason)
}

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

// One pass over an object finds what encoding/json finds: of members with one name the last one, also within others.
func FuzzObject(f *testing.F) {
	for _, value := range []string{
		`{"text":"a","text":"b"}`, `{"te\u0078t":"a","x":{"text":[1,"text"]}}`,
		` {"a" : [ {"text":"}"} ] , "text" : "\"\\" }`, `{"text":null,"text":1}`, `{"a":{"text":1},"a":{"text":2,"text":3}}`,
		`{"":1,"text":-1.5e3,"id":true}`, `{"text":"\ud800","id":{"$oid":"a"}}`, "{\"text\":\"\xff\"}",
		`{"a":1,` + strings.Repeat(`"b":2,`, 500) + `"a":3,"text":"x"}`, `{"a":[{"text":1,"text":2}]}`,
	} {
		f.Add([]byte(value), "text")
	}
	f.Fuzz(func(t *testing.T, value []byte, path string) {
		if !IsObject(value) {
			return
		}
		o := newObject(value, nil, nil)
		o.get(path)
		members := func(raw []byte) (m map[string]json.RawMessage) {
			_ = json.Unmarshal(raw, &m) // a value that is no object has none
			return m
		}
		outer := members(value)
		for _, name := range []string{"text", "id", "a"} {
			if got, want := o.get(name), outer[name]; got.Raw != string(want) {
				t.Fatalf("%q at %q: %s, not %s", value, name, got.Raw, want)
			}
			if bytes.HasPrefix(outer[name], []byte("{")) {
				if got, want := o.get(name+".text"), members(outer[name])["text"]; got.Raw != string(want) {
					t.Fatalf("%q at %q: %s, not %s", value, name+".text", got.Raw, want)
				}
			}
		}
	})
}

// The last of several members with one name counts, and an empty string counts as absent if another name has a text.
func TestMembersThatStandTwice(t *testing.T) {
	c := DefaultConfig()
	c.Fields.Text = []string{"text", "a.text", "list.0.text", "list.#.body", "content"}
	for value, want := range map[string]string{
		`{"text":"1","text":"2"}`:                                    "2",
		`{"text":"1","a":{"text":"2"},"text":null,"a":{"text":"3"}}`: "3",
		`{"a":{"text":"1","text":"2"}}`:                              "2",
		`{"list":[{"text":"1","text":"2"}]}`:                         "2",
		`{"text":"","content":"1"}`:                                  "1",
		`{"text":" \n","a":{"text":""},"content":"1"}`:               "1",
		`{"text":"","content":null}`:                                 "",
	} {
		content, reject := c.Decode(recordOf(value))
		require.Nil(t, reject, value)
		require.Equal(t, want, content.Text, value)
	}
}
