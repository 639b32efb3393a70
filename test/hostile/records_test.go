package hostile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// record is one hostile record and its expected outcome.
type record struct {
	name    string
	value   []byte // nil: a null value
	headers []kgo.RecordHeader
	at      time.Time // zero: now
	codec   kgo.CompressionCodec
	verdict string // unique, exact or near; empty: a dead letter
	reason  string // of a dead letter or a copy
	alike   bool   // the service may call it a possible copy
}

// text returns the JSON of an article with this text. It escapes only the characters that JSON requires.
func text(s string) []byte {
	return []byte(`{"text":"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"}`)
}

func dead(name, reason string, value string) record {
	return record{name: name, value: []byte(value), reason: reason}
}

func unique(name string, value []byte) record {
	return record{name: name, value: value, verdict: "unique"}
}

// malformed records become dead letters. Package decode has more of them.
func malformed() []record {
	return []record{
		dead("arrays nested 1,000,000 deep", "not_json", `{"a":`+strings.Repeat("[", 1e6)+strings.Repeat("]", 1e6)+
			`,"text":"x"}`),
		dead("brackets never closed", "not_json", strings.Repeat(`{"text":`, 1e6)),
		dead("no text", "no_text", `{"id":"a"}`),
		dead("text is a number", "wrong_type", `{"text":1e999999999}`),
		dead("only punctuation", "empty_text", `{"text":"`+strings.Repeat("!?... ,;--*", 1e5)+`"}`),
		dead("only lone surrogates", "empty_text", `{"text":"\ud800\udfff\udc00"}`),
		dead("only invalid UTF-8", "not_utf8", "{\"text\":\"\xff\xfe\xc0\x80\xed\xa0\x80\"}"),
		dead("a million tags without text", "empty_text", `{"text":"`+strings.Repeat("<p></p>", 1e6)+`"}`),
	}
}

// odd records are strange, but articles.
func odd(random *rand.Rand) []record {
	article := func() string { return strings.Join(words(random, 40, latin), " ") }
	first := article()
	forged := []kgo.RecordHeader{{Key: "crawler", Value: []byte("kept")}}
	for _, name := range []string{"verdict", "input", "original", "root", "recipe", "reason", "fingerprint"} {
		forged = append(forged, kgo.RecordHeader{Key: "echosieve-" + name, Value: []byte("forged")},
			kgo.RecordHeader{Key: "echosieve-" + name})
	}
	var many []kgo.RecordHeader
	for i := range 10_000 {
		many = append(many, kgo.RecordHeader{Key: fmt.Sprint("h", i%7), Value: []byte{byte(i)}})
	}
	attributes := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	records := []record{
		{name: "null value", verdict: "unique"},
		unique("first of duplicate keys", text(first)),
		{name: "duplicate keys: the last counts", value: []byte(`{"text":7,"text":"` + article() + `","text":"` + first +
			`"}`), verdict: "exact", reason: "digest"},
		unique("id of a wrong type", []byte(`{"id":{"a":[1]},"_id":true,"url":[],"title":{},"text":"`+article()+`"}`)),
		unique("id too long", []byte(`{"id":"`+strings.Repeat("i", 1e5)+`","text":"`+article()+`"}`)),
		unique("escaped NUL bytes", []byte(`{"text":"\u0000`+strings.ReplaceAll(article(), " ", `\u0000 `)+`"}`)),
		unique("lone surrogates", []byte(`{"text":"\ud800 `+article()+` \udc00\ud83d"}`)),
		unique("200,000 fields", []byte(`{`+attributes(`"k%d":0,`, 2e5)+`"text":"`+article()+`"}`)),
		unique("200,000 HTML attributes", text(`<div `+attributes(`a%d="x" `, 2e5)+`>`+article()+`</div>`)),
		unique("a million tags", text(strings.Repeat("<b><i></i></b>", 25e4)+article())),
		unique("a million tags never closed", text(strings.Repeat("<div ", 1e6)+article())),
		unique("a million entities", text(strings.Repeat("&amp;", 1e6)+article())),
		unique("a million comments never closed", text(strings.Repeat("<!--", 1e6)+article())),
		{name: "headers of our own name", value: text(article()), headers: forged, verdict: "unique"},
		{name: "10,000 headers", value: text(article()), headers: many, verdict: "unique"},
		{name: "no timestamp", value: text(article()), at: time.UnixMilli(-1), verdict: "unique"},
		{name: "long before 1970", value: text(article()), at: time.UnixMilli(-4e12), verdict: "unique"},
		{name: "in two years", value: text(article()), at: time.Now().Add(2 * 365 * 24 * time.Hour), verdict: "unique"},
		{name: "the year 2262, the last that the producer can send", value: text(article()),
			at: time.UnixMilli(math.MaxInt64 / 1_000_000), verdict: "unique"},
	}
	for _, c := range codecs {
		records = append(records, record{name: "compressed with " + c.name, value: text(article()), codec: c.codec,
			verdict: "unique"})
	}
	return records
}

var codecs = []struct {
	name  string
	codec kgo.CompressionCodec
}{
	{"none", kgo.NoCompression()},
	{"gzip", kgo.GzipCompression()},
	{"snappy", kgo.SnappyCompression()},
	{"lz4", kgo.Lz4Compression()},
	{"zstd", kgo.ZstdCompression()},
}

var (
	latin    = []rune("abcdefghijklmnopqrstuvwxyz")
	cyrillic = []rune("абвгдежзийклмнопрстуфхцчшщъыьэюя")
	kana     = []rune("あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほ")
	hangul   = []rune("가나다라마바사아자차카타파하고노도로모보소오조초코토포호")
	arabic   = []rune("ابتثجحخدذرزسشصضطظعغفقكلمنهوي")
	emoji    = []rune("😀😁😂🤣😃😄😅😆😉😊😋😎😍😘🥰😗")
	han      = []rune("的一是不了人我在有他这中大来上国个到说们为子和你地" +
		"出道也时年得就那要下以生会自着去之过家学对可她里后")
	digits = []rune("0123456789")
)

func words(random *rand.Rand, n int, alphabet []rune) []string {
	out := make([]string, n)
	for i := range out {
		word := make([]rune, 3+random.IntN(6))
		for j := range word {
			word[j] = alphabet[random.IntN(len(alphabet))]
		}
		out[i] = string(word)
	}
	return out
}

// lookalikes are pairs of different texts that are hard to tell apart, such as texts of one repeated word.
// Neither of a pair may be judged a copy of the other.
func lookalikes(random *rand.Rand) []record {
	var records []record
	for i := range 2 {
		run := func(alphabet []rune, n int) string { return strings.Join(words(random, n, alphabet), "") }
		spaced := func(alphabet []rune, n int) string { return strings.Join(words(random, n, alphabet), " ") }
		mixed := func() string {
			var all []string
			for _, a := range [][]rune{latin, cyrillic, kana, hangul, arabic, han, digits} {
				all = append(all, words(random, 500, a)...)
			}
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			return strings.Join(all, " ")
		}
		for _, c := range []struct{ name, text string }{
			{"one word 100,000 times", strings.Repeat([]string{"harvest ", "election "}[i], 1e5)},
			{"one Han word 100,000 times", strings.Repeat([]string{"经济", "足球"}[i], 1e5)},
			{"two words by turns", strings.Repeat([]string{"market rises ", "market falls "}[i], 5e4)},
			{"one digit", strings.Repeat([]string{"7", "3"}[i], 1e6)},
			{"numbers only", spaced(digits, 1e5)},
			{"one giant token", run(latin, 1e5)},
			{"Latin words", spaced(latin, 1e5)},
			{"Han only", run(han, 1e4)},
			{"emoji and a word", strings.Repeat(string(emoji[i]), 1e5) + []string{"yes", "no"}[i]},
			{"mixed scripts", mixed()},
			{"combining marks", "e" + strings.Repeat("\u0301\u0323", 1e5) + []string{"x", "y"}[i]},
			{"one letter 20 MB long", strings.Repeat([]string{"a", "b"}[i], 20e6)},
			{"one Han character 20 MB long", strings.Repeat([]string{"中", "文"}[i], 20_000_000/3)},
		} {
			r := unique(fmt.Sprintf("%s, %d", c.name, i+1), text(c.text))
			r.alike = true // random texts of few different letters can have much in common
			if len(c.text) > 10e6 {
				r.codec = kgo.ZstdCompression() // a few hundred bytes on the wire
			}
			records = append(records, r)
		}
	}
	return records
}
