package pipeline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

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
		got, err := m.AppendTo([]byte("before "), "echosieve", []byte(object))
		require.NoError(t, err)
		require.Equal(t, "before "+want, string(got), object)
		require.True(t, json.Valid(got[len("before "):]), object)
	}
	got, err := m.AppendTo(nil, "echosieve", nil)
	require.NoError(t, err)
	require.Equal(t, "{"+own, string(got))
}

func FuzzMember(f *testing.F) {
	for _, object := range []string{`{"a":1}`, `{"echosieve":[1,"}"],"b":"\\\""}`, `{`, `{"a" : {"b":[]} , "c":null}`} {
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, object string) {
		m := Member{Verdict: "unique"}
		got, err := m.AppendTo(nil, "echosieve", []byte(object))
		require.NoError(t, err)
		require.True(t, json.Valid(got), "%q", got)
		again, err := m.AppendTo(nil, "echosieve", got)
		require.NoError(t, err)
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
		`{"verdict":"exact","reason":"digest","topic":"duplicate","relation":"equal","similarity":1,"contained":1,"contains":1,"distance":0,` +
			`"original":{"id":"<a>","record":"t/0/1"},"root":{"id":"r","record":"t/0/1"},"left_out":0.33,"record":"t/0/2"}`: article.ExactVerdict(ref("<a>"), ref("r")),
		`{"verdict":"possible","reason":"values","topic":"possible","distance":3,"original":{"id":"a","record":"t/0/1"},"left_out":0.33,"record":"t/0/2"}`: {
			Kind: article.Possible, Reason: article.ReasonValues, Original: ref("a"), Root: ref("self"), Distance: 3,
			Destination: article.ToPossible,
		},
	} {
		out := verdictOutput(r, &article.Article{CleanBytes: 3, FurnitureBytes: 1}, &v, "recipe")
		m := out.Member()
		got, err := m.AppendTo(nil, "e", nil)
		require.NoError(t, err)
		require.Equal(t, want, strings.TrimSuffix(strings.TrimPrefix(string(got), `{"e":`), "}"))
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
	p := &Pipeline{cfg: Config{Member: strings.Repeat("m", maxMemberName)}}
	require.NoError(t, p.addMember(&out))
	bound, err := maxMemberBytes(p.cfg.Member)
	require.NoError(t, err)
	require.LessOrEqual(t, len(out.Value), len(`{"a":1}`)+bound)
	require.Less(t, bound, 8<<10, "a bound too high makes dead letters of records that fit")
}

func TestVerdictInTheValueNeedsPlainObjects(t *testing.T) {
	for want, change := range map[string]func(*OutputConfig, *decode.Config){
		"":                       func(*OutputConfig, *decode.Config) {},
		`verdict: "body"`:        func(o *OutputConfig, _ *decode.Config) { o.Verdict = "body" },
		`member: ""`:             func(o *OutputConfig, _ *decode.Config) { o.Member = "" },
		`member: "a.b"`:          func(o *OutputConfig, _ *decode.Config) { o.Member = "a.b" },
		"input.format is avro":   func(_ *OutputConfig, in *decode.Config) { in.Format = decode.FormatAvro },
		"input.format is html":   func(_ *OutputConfig, in *decode.Config) { in.Format = decode.FormatHTML },
		"input.framing is":       func(_ *OutputConfig, in *decode.Config) { in.Framing = decode.FramingConfluent },
		"input.preset is":        func(_ *OutputConfig, in *decode.Config) { in.Preset = "debezium" },
		"replace the field text": func(o *OutputConfig, _ *decode.Config) { o.Member = "text" },
		"replace the field e*.x": func(_ *OutputConfig, in *decode.Config) { in.Fields.Text = []string{"e*.x"} },
		"replace the field seen": func(o *OutputConfig, in *decode.Config) { o.Member, in.Fields.Published = "seen", []string{"seen"} },
	} {
		out, in := DefaultOutputConfig(), decode.DefaultConfig()
		out.Verdict = VerdictInValue
		change(&out, &in)
		if err := out.Validate(in); want == "" {
			require.NoError(t, err)
			require.Equal(t, "echosieve", out.MemberName())
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	avro := decode.DefaultConfig()
	avro.Format = decode.FormatAvro
	require.NoError(t, DefaultOutputConfig().Validate(avro))
	require.Empty(t, DefaultOutputConfig().MemberName())
}
