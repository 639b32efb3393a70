package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

var now = time.UnixMilli(1_700_000_000_000)

func input(offset int64) *kgo.Record {
	return &kgo.Record{Topic: "in", Offset: offset, Key: []byte("k"), Value: []byte("v"), Timestamp: now}
}

func output(topic, source string, headers ...string) *kgo.Record {
	r := &kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("v"), Timestamp: now}
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: "echosieve-source", Value: []byte(source)})
	for i := 0; i < len(headers); i += 2 {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: headers[i], Value: []byte(headers[i+1])})
	}
	return r
}

func kinds(bad []Violation) []Kind {
	var k []Kind
	for _, v := range bad {
		k = append(k, v.Kind)
	}
	return k
}

func TestViolationsAreFound(t *testing.T) {
	const verdict, original = "echosieve-verdict", "echosieve-original"
	unique := func(source string) *kgo.Record { return output("u", source, verdict, "unique") }
	copyOf := func(source, of string) *kgo.Record { return output("d", source, verdict, "near", original, of) }
	changed := unique("in/0/1")
	changed.Value = []byte("w")
	for name, c := range map[string]struct {
		outputs []*kgo.Record
		want    []Kind
	}{
		"all well":             {[]*kgo.Record{unique("in/0/0"), copyOf("in/0/1", "in/0/0"), unique("in/0/0")}, nil},
		"lost":                 {[]*kgo.Record{unique("in/0/0")}, []Kind{Lost}},
		"two verdicts":         {[]*kgo.Record{unique("in/0/0"), unique("in/0/1"), copyOf("in/0/1", "in/0/0")}, []Kind{Contradiction}},
		"another original":     {[]*kgo.Record{unique("in/0/0"), copyOf("in/0/1", "in/0/0"), copyOf("in/0/1", "in/0/5")}, []Kind{Contradiction}},
		"changed value":        {[]*kgo.Record{unique("in/0/0"), changed}, []Kind{Altered}},
		"unknown source":       {[]*kgo.Record{unique("in/0/0"), unique("in/0/1"), unique("in/0/7")}, []Kind{Stray}},
		"copy of itself":       {[]*kgo.Record{unique("in/0/0"), copyOf("in/0/1", "in/0/1")}, []Kind{SelfDuplicate}},
		"copies of each other": {[]*kgo.Record{copyOf("in/0/0", "in/0/1"), copyOf("in/0/1", "in/0/0")}, []Kind{Cycle, Cycle}},
		"copy of nothing":      {[]*kgo.Record{unique("in/0/0"), copyOf("in/0/1", "in/0/9")}, []Kind{Cycle}},
		"copy of a dead one":   {[]*kgo.Record{output("x", "in/0/0"), copyOf("in/0/1", "in/0/0")}, []Kind{Cycle}},
		"wrong order":          {[]*kgo.Record{unique("in/0/1"), unique("in/0/0")}, []Kind{Order}},
	} {
		t.Run(name, func(t *testing.T) {
			inputs := map[string]*kgo.Record{"in/0/0": input(0), "in/0/1": input(1)}
			seen, bad := Account(inputs, c.outputs)
			bad = append(bad, Chains(seen)...)
			bad = append(bad, InOrder(c.outputs)...)
			require.Equal(t, c.want, kinds(bad), "%v", bad)
		})
	}
}
