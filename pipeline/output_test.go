package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/simhash"
	"echosieve/test/host"
)

func recordOf(value string) *record.Record {
	return &record.Record{
		Coordinates: article.Coordinates{Topic: "articles", Partition: 2, Offset: 41},
		Value:       []byte(value), Time: time.UnixMilli(1_700_000_000_000),
	}
}

func value(headers []record.Header, key string) string {
	for _, h := range headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// A long detail ends with a whole character, wherever its bytes are cut.
func TestDetailIsCutAtACharacter(t *testing.T) {
	for lead := range 3 {
		reject := record.Reject(record.NoText, "%s%s", strings.Repeat("x", lead), strings.Repeat("\u65b0", maxDetailBytes))
		out := deadOutput(recordOf("{}"), reject, 1<<20)
		require.Equal(t, reject.Detail[:lead+(maxDetailBytes-lead)/3*3], out.Detail)
		require.Equal(t, out.Detail, value(out.Headers, HeaderDetail))
	}
}

// The headers of each verdict stand in an order on which readers of the output rely. Foreign headers stay, forged ones
// are replaced.
func TestVerdictHeaders(t *testing.T) {
	r := recordOf("{}")
	r.Headers = []record.Header{{Key: "trace"}, header("echosieve-verdict", "forged"), header("x-other", "kept")}
	self := article.Ref{ID: "a1", Coordinates: r.Coordinates}
	original := article.Ref{ID: "o", Coordinates: article.Coordinates{Topic: "articles", Partition: 0, Offset: 7}}
	root := article.Ref{ID: "r", Coordinates: article.Coordinates{Topic: "articles", Partition: 1, Offset: 3}}
	whole := &article.Article{Fingerprint: 0xabc}
	partly := &article.Article{Fingerprint: 0xabc, CleanBytes: 3000, RepeatedBytes: 600, FurnitureBytes: 390}
	const end = " input=articles/2/41 recipe=news-1-00000000"
	for name, c := range map[string]struct {
		article *article.Article
		verdict article.Verdict
		to      article.Destination
		want    string
	}{
		"unique": {whole, article.Verdict{Kind: article.Unique, Root: self}, article.ToUnique,
			"verdict=unique fingerprint=0000000000000abc root-id=a1 root=articles/2/41" + end},
		"released": {&article.Article{Fingerprint: 0xabc, Released: true},
			article.Verdict{Kind: article.Unique, Root: self}, article.ToUnique,
			"verdict=unique fingerprint=0000000000000abc reason=released root-id=a1 root=articles/2/41" + end},
		"unique, partly left out": {partly, article.Verdict{Kind: article.Unique, Root: self}, article.ToUnique,
			"verdict=unique fingerprint=0000000000000abc root-id=a1 root=articles/2/41" + end + " left-out=0.33"},
		"near": {whole, article.Verdict{
			Kind: article.Near, Reason: article.ReasonOverlap, Original: original, Root: root, Distance: 3,
			Destination: article.ToDuplicate,
			Likeness:    article.Likeness{Relation: article.Extends, Similarity: 83, Contained: 84, Contains: 100},
		}, article.ToDuplicate, "verdict=near fingerprint=0000000000000abc reason=overlap distance=3 relation=extends " +
			"similarity=0.83 contained=0.84 contains=1.00 original-id=o original=articles/0/7 " +
			"root-id=r root=articles/1/3" + end},
		"possible, no relation told": {whole, article.Verdict{Kind: article.Possible, Reason: article.ReasonValues,
			Original: original, Root: self, Distance: 9, Destination: article.ToPossible}, article.ToPossible,
			"verdict=possible fingerprint=0000000000000abc reason=values distance=9 original-id=o original=articles/0/7 " +
				"root-id=a1 root=articles/2/41" + end},
		"unique by policy, relation by the id": {whole, article.Verdict{Kind: article.Near, Original: original, Root: root,
			Likeness: article.Likeness{Relation: article.Revises}}, article.ToUnique,
			"verdict=near fingerprint=0000000000000abc reason=none distance=0 relation=revises original-id=o " +
				"original=articles/0/7 root-id=r root=articles/1/3" + end},
		"little text": {&article.Article{LittleText: true}, article.ExactVerdict(original, original), article.ToDuplicate,
			"verdict=exact reason=digest distance=0 relation=equal similarity=1.00 contained=1.00 contains=1.00 " +
				"original-id=o original=articles/0/7 root-id=o root=articles/0/7" + end},
	} {
		t.Run(name, func(t *testing.T) {
			out := verdictOutput(r, c.article, &c.verdict, "news-1-00000000")
			require.Equal(t, c.to, out.Destination)
			var got []string
			for _, h := range out.Headers {
				got = append(got, strings.TrimPrefix(h.Key, "echosieve-")+"="+string(h.Value))
			}
			require.Equal(t, "trace= x-other=kept "+c.want, strings.Join(got, " "))
			require.Nil(t, out.Headers[0].Value, "null stays null")
		})
	}
}

func TestDeadOutputAlwaysFits(t *testing.T) {
	const limit = 4096
	reject := record.Reject(record.TooLarge, "%s", strings.Repeat("d", 1000))
	for name, c := range map[string]struct {
		key, value, header      int
		omitValue, omitKey, all bool
	}{
		"small":         {10, 10, 10, false, false, true},
		"large value":   {10, 1 << 20, 10, true, false, true},
		"large key":     {1 << 20, 10, 10, true, true, false},
		"large headers": {10, 10, 1 << 20, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := recordOf(strings.Repeat("v", c.value))
			r.Key = make([]byte, c.key)
			r.Headers = []record.Header{{Key: "h", Value: make([]byte, c.header)}}
			out := deadOutput(r, reject, limit)
			require.Equal(t, c.omitValue, out.Value == nil)
			require.Equal(t, c.omitKey, out.Key == nil)
			require.Equal(t, c.all, out.Headers[0].Key == "h")
			published := record.Record{Headers: out.Headers, Key: out.Key, Value: out.Value}
			require.LessOrEqual(t, recordBytes(&published), limit)
			require.Equal(t, "too_large", value(out.Headers, HeaderReason))
			require.Equal(t, "articles/2/41", value(out.Headers, HeaderInput))
		})
	}
}

func TestVerdictHeadersFitTheirBound(t *testing.T) {
	long := article.Ref{ID: strings.Repeat("i", article.MaxIDBytes),
		Coordinates: article.Coordinates{Topic: strings.Repeat("t", 249), Partition: 1<<31 - 1, Offset: 1<<63 - 1}}
	r := &record.Record{Coordinates: long.Coordinates}
	longest := &article.Verdict{Kind: article.Unique + 1, Original: long, Root: long, Distance: 64,
		Likeness: article.SameText}
	longest.Relation = article.Contained
	out := verdictOutput(r, &article.Article{}, longest, strings.Repeat("r", 64))
	require.LessOrEqual(t, recordBytes(&record.Record{Headers: out.Headers})-recordBytes(r), maxVerdictHeaderBytes)
	dead := deadOutput(r, record.Reject(record.TooLarge, "%s", strings.Repeat("d", 9999)), 1)
	require.LessOrEqual(t, recordBytes(&record.Record{Headers: dead.Headers})-recordBytes(r), maxDeadHeaderBytes)
}

// A header of another name would be published beside one of the same name that the record came with.
func TestAllHeadersHaveOurPrefix(t *testing.T) {
	places := host.Constants(t, "pipeline/output.go", "Header")
	require.NotEmpty(t, places)
	for header, place := range places {
		assert.True(t, isOwnHeader(header), "%s %s", header, place)
	}
}

// Headers with our names are replaced. All other headers are kept unchanged and in their order, and ours occur once.
func FuzzHeaders(f *testing.F) {
	f.Add("crawler", []byte("x"), HeaderVerdict, []byte("forged"))
	f.Add("", []byte{}, HeaderInput, []byte(nil))
	f.Add(HeaderReason, []byte("\xff\x00"), strings.ToUpper(HeaderReason), []byte("kept"))
	f.Fuzz(func(t *testing.T, key1 string, value1 []byte, key2 string, value2 []byte) {
		in := []record.Header{{Key: key1, Value: value1}, {Key: key2, Value: value2}, {Key: key1, Value: value2}}
		r := recordOf("x")
		r.Headers = in
		out := deadOutput(r, record.Reject(record.NotJSON, "detail"), 1<<20)
		parts := func(headers []record.Header) (foreign, ours []string) {
			for _, h := range headers {
				if isOwnHeader(h.Key) {
					ours = append(ours, h.Key)
				} else {
					foreign = append(foreign, fmt.Sprintf("%q %q %t", h.Key, h.Value, h.Value == nil))
				}
			}
			return foreign, ours
		}
		want, _ := parts(in)
		foreign, ours := parts(out.Headers)
		require.Equal(t, want, foreign)
		require.ElementsMatch(t, []string{HeaderReason, HeaderDetail, HeaderInput}, ours)
	})
}

// Nobody hands in a header that a consumer could take for ours: not in another case, nor one of later versions.
func TestHeadersOfOurNamesAreNotPassedOn(t *testing.T) {
	r := recordOf("x")
	for _, name := range []string{"Echosieve-Verdict", "ECHOSIEVE-REASON", "Echosieve-Release", "echosieve-later", "echosieve-", "echosieve"} {
		r.Headers = append(r.Headers, record.Header{Key: name})
	}
	require.Equal(t, []record.Header{{Key: "echosieve"}}, withHeaders(r))
}

func TestParseHeadersReadsWhatWasPublished(t *testing.T) {
	r := recordOf("{}")
	self := article.Ref{ID: "a1", Coordinates: r.Coordinates}
	original := article.Ref{ID: "o", Coordinates: article.Coordinates{Topic: "articles", Offset: 7}}
	root := article.Ref{ID: "r", Coordinates: article.Coordinates{Topic: "articles.old", Partition: 1, Offset: 3}}
	fingerprint := simhash.Fingerprint(0xabc)
	likeness := article.Likeness{Relation: article.Extends, Similarity: 57, Contained: 58, Contains: 100}
	for name, v := range map[string]article.Verdict{
		"unique": {Kind: article.Unique, Root: self},
		"near": {Kind: article.Near, Reason: article.ReasonOverlap, Original: original, Root: root, Distance: 3,
			Likeness: likeness, Destination: article.ToDuplicate},
		"exact": article.ExactVerdict(original, original),
		"classic": {Kind: article.Near, Reason: article.ReasonDistance, Original: original, Root: root, Distance: 3,
			Destination: article.ToDuplicate},
		"possible": {Kind: article.Possible, Reason: article.ReasonValues, Original: original, Root: self,
			Distance: 9, Likeness: likeness, Destination: article.ToPossible},
	} {
		t.Run(name, func(t *testing.T) {
			want := OutputHeaders{Verdict: v, Fingerprint: &fingerprint, Input: r.Coordinates,
				Recipe: "news-1-00000000"}
			got, err := ParseHeaders(verdictOutput(r, &article.Article{Fingerprint: fingerprint}, &v,
				want.Recipe).Headers)
			require.NoError(t, err)
			require.Equal(t, want, got)

			want.Fingerprint = nil
			got, err = ParseHeaders(verdictOutput(r, &article.Article{LittleText: true}, &v, want.Recipe).Headers)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}

	got, err := ParseHeaders(tombstoneOutput(r, "x").Headers)
	require.NoError(t, err)
	require.Equal(t, OutputHeaders{Verdict: article.Verdict{Kind: article.Unique}, Input: r.Coordinates, Recipe: "x"},
		got)

	reject := record.Reject(record.NoText, "none of the fields")
	got, err = ParseHeaders(deadOutput(r, reject, 1<<20).Headers)
	require.NoError(t, err)
	require.Equal(t, OutputHeaders{Input: r.Coordinates, Reject: reject}, got)
}

func TestParseHeadersNamesTheBadHeader(t *testing.T) {
	_, err := ParseHeaders(recordOf("{}").Headers)
	require.ErrorIs(t, err, ErrNoOutput)
	r := recordOf("{}")
	self := article.Ref{Coordinates: r.Coordinates}
	good := verdictOutput(r, &article.Article{}, &article.Verdict{Kind: article.Near, Reason: article.ReasonOverlap,
		Original: self, Root: self}, "x").Headers
	for name, bad := range map[string]string{
		HeaderVerdict: "maybe", HeaderReason: "mood", HeaderDistance: "far", HeaderRelation: "cousin",
		HeaderSimilarity: "1.01", HeaderContained: "x", HeaderContains: "-0.1", HeaderFingerprint: "abc",
		HeaderInput:    "articles/1",
		HeaderOriginal: "a/b/c/d", HeaderRoot: "articles/0/-1",
	} {
		headers := append(append([]record.Header{}, good...), header(name, bad))
		_, err := ParseHeaders(headers)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, bad)
	}
}

func TestMemberStandsLast(t *testing.T) {
	m := Member{Verdict: "unique", Topic: "unique", Record: "t/0/1"}
	const own = `"echosieve":{"verdict":"unique","topic":"unique","record":"t/0/1"}}`
	for object, want := range map[string]string{
		`{"a": 1.50, "b":"é\u00e9" }`:                   `{"a": 1.50, "b":"é\u00e9",` + own,
		` {} `:                                          `{` + own,
		`{"echosieve":{"verdict":"near"}}`:              `{` + own,
		`{"echosieve":1, "a":2}`:                        `{"a":2,` + own,
		`{"a":1, "echosieve":{"x":"}"} , "b":2}`:        `{"a":1 , "b":2,` + own,
		`{"a":1,"\u0065chosieve":1}`:                    `{"a":1,` + own,
		`{"echosieve":1,"echosieve":2,"a":[{}],"z":""}`: `{"a":[{}],"z":"",` + own,
		`{"a":{"echosieve":1}}`:                         `{"a":{"echosieve":1},` + own,
		`{"a":"cut`:                                     `{"value":"{\"a\":\"cut",` + own,
		`text`:                                          `{"value":"text",` + own,
		"a\xff":                                         `{"value":"a\ufffd",` + own,
	} {
		got := m.AppendTo([]byte("before "), []byte(object))
		require.Equal(t, "before "+want, string(got), object)
		require.True(t, json.Valid(got[len("before "):]), object)
	}
	got := m.AppendTo(nil, nil)
	require.Equal(t, "{"+own, string(got))
}

func FuzzMember(f *testing.F) {
	for _, object := range []string{`{"a":1}`, `{"echosieve":[1,"}"],"b":"\\\""}`, `{`, `{"a" : {"b":[]} , "c":null}`} {
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, object string) {
		m := Member{Verdict: "unique"}
		got := m.AppendTo(nil, []byte(object))
		require.True(t, json.Valid(got), "%q", got)
		again := m.AppendTo(nil, got)
		require.Equal(t, string(got), string(again), "a second verdict takes the place of the first")
	})
}

func TestMemberSaysWhatTheHeadersSay(t *testing.T) {
	r := &record.Record{Coordinates: article.Coordinates{Topic: "t", Offset: 2}}
	ref := func(id string) article.Ref {
		return article.Ref{ID: id, Coordinates: article.Coordinates{Topic: "t", Offset: 1}}
	}
	for want, v := range map[string]article.Verdict{
		`{"verdict":"unique","topic":"unique","left_out":0.33,"record":"t/0/2"}`: {Kind: article.Unique,
			Root: ref("self")},
		`{"verdict":"exact","reason":"digest","topic":"duplicate","relation":"equal",` +
			`"similarity":1,"contained":1,"contains":1,` +
			`"distance":0,` +
			`"original":{"id":"<a>","record":"t/0/1"},"root":{"id":"r","record":"t/0/1"},"left_out":0.33,` +
			`"record":"t/0/2"}`: article.ExactVerdict(ref("<a>"), ref("r")),
		`{"verdict":"possible","reason":"values","topic":"possible","distance":3,` +
			`"original":{"id":"a","record":"t/0/1"},"left_out":0.33,"record":"t/0/2"}`: {
			Kind: article.Possible, Reason: article.ReasonValues, Original: ref("a"), Root: ref("self"), Distance: 3,
			Destination: article.ToPossible,
		},
	} {
		out := verdictOutput(r, &article.Article{CleanBytes: 3, FurnitureBytes: 1}, &v, "recipe")
		m := out.Member()
		got := m.AppendTo(nil, nil)
		require.Equal(t, want, strings.TrimSuffix(strings.TrimPrefix(string(got), `{"echosieve":`), "}"))
	}
	out := deadOutput(r, record.Reject(record.NoText, "why"), 1<<20)
	require.Equal(t, Member{Verdict: "dead", Reason: "no_text", Detail: "why", Topic: "dead", Record: "t/0/2"},
		out.Member())
	out = tombstoneOutput(r, "recipe")
	require.Equal(t, Member{Verdict: "unique", Reason: "tombstone", Topic: "unique", Record: "t/0/2"}, out.Member())
}

// Records are measured before the verdict is known, so the bound must hold for every verdict.
func TestMemberFitsItsBound(t *testing.T) {
	long := article.Ref{ID: strings.Repeat("\x01", article.MaxIDBytes),
		Coordinates: article.Coordinates{Topic: strings.Repeat("t", 249), Partition: 1<<31 - 1, Offset: 1<<63 - 1}}
	v := &article.Verdict{Kind: article.Near, Original: long, Root: long, Distance: 64, Likeness: article.SameText}
	v.Relation, v.Reason, v.Destination = article.Contained, article.ReasonOverlap, article.ToDuplicate
	out := verdictOutput(&record.Record{Coordinates: long.Coordinates, Value: []byte(`{"a":1}`)},
		&article.Article{CleanBytes: 3, FurnitureBytes: 1}, v, "recipe")
	p := &Pipeline{cfg: Config{Member: true}}
	p.addMember(&out)
	bound := maxMemberBytes()
	require.LessOrEqual(t, len(out.Value), len(`{"a":1}`)+bound)
	require.Less(t, bound, 8<<10, "a bound too high makes dead letters of records that fit")
}

func TestVerdictInTheValueNeedsPlainObjects(t *testing.T) {
	for want, change := range map[string]func(*OutputConfig, *decode.Config){
		"":                     func(*OutputConfig, *decode.Config) {},
		`verdict: "body"`:      func(o *OutputConfig, _ *decode.Config) { o.Verdict = "body" },
		"input.format is avro": func(_ *OutputConfig, in *decode.Config) { in.Format = decode.FormatAvro },
		"input.format is html": func(_ *OutputConfig, in *decode.Config) { in.Format = decode.FormatHTML },
		"input.framing is":     func(_ *OutputConfig, in *decode.Config) { in.Framing = decode.FramingConfluent },
		"input.preset is":      func(_ *OutputConfig, in *decode.Config) { in.Preset = "debezium" },
		"echosieve would replace the field echosieve.x": func(_ *OutputConfig, in *decode.Config) {
			in.Fields.Text = []string{"echosieve.x"}
		},
		"replace the field e*.x": func(_ *OutputConfig, in *decode.Config) { in.Fields.Text = []string{"e*.x"} },
		"replace the field echosieve of": func(_ *OutputConfig, in *decode.Config) {
			in.Fields.Published = []string{"echosieve"}
		},
	} {
		out, in := DefaultOutputConfig(), decode.DefaultConfig()
		out.Verdict = VerdictInValue
		change(&out, &in)
		if err := out.Validate(in); want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	avro := decode.DefaultConfig()
	avro.Format = decode.FormatAvro
	require.NoError(t, DefaultOutputConfig().Validate(avro))
}

// The last header of the name counts, if it holds coordinates. It stays on the output, where a refill finds it.
func TestReleaseOf(t *testing.T) {
	r := recordOf("{}")
	for value, want := range map[string]bool{"": false, "a1": false, "articles/2/40": true,
		strings.Repeat("t", 300) + "/2/40": false} {
		r.Headers = []record.Header{header(HeaderRelease, "articles/0/1"), header(HeaderRelease, value)}
		released, ok := ReleaseOf(r)
		require.Equal(t, want, ok, value)
		require.Equal(t, want, released.String() == value)
	}
	a, b, other := article.Article{}, article.Article{}, article.Article{}
	release(&a, article.Coordinates{Topic: "t", Offset: 1})
	release(&b, article.Coordinates{Topic: "t", Offset: 1})
	release(&other, article.Coordinates{Topic: "t", Offset: 2})
	require.Equal(t, a.Digest, b.Digest, "two releases of one record are exact copies")
	require.NotEqual(t, a.Digest, other.Digest)
	r.Headers = r.Headers[:1]
	out := verdictOutput(r, &a, &article.Verdict{Kind: article.Unique,
		Root: article.Ref{Coordinates: r.Coordinates}}, "news")
	parsed, err := ParseHeaders(out.Headers)
	require.NoError(t, err)
	input := parsed.Restored(&record.Record{Headers: out.Headers})
	_, ok := ReleaseOf(&input)
	require.True(t, ok)
}
