package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/record"
)

var now = time.UnixMilli(1_700_000_000_000)

// Coordinates of the inputs: two articles of partition 1, one of partition 3, a broken record, and a null value.
const (
	a, b, c      = "in/1/0", "in/1/1", "in/3/0"
	broken, null = "in/1/2", "in/1/3"
)

func inputs() map[string]*kgo.Record {
	all := map[string]*kgo.Record{}
	for _, input := range []string{a, b, c, broken, null} {
		all[input] = &kgo.Record{Key: []byte("k"), Value: []byte("v"), Timestamp: now}
	}
	all[null].Value = nil
	return all
}

// output is what is published of a input to one of two partitions.
func output(topic, input string, headers ...string) *kgo.Record {
	r := &kgo.Record{Topic: topic, Partition: 1, Key: []byte("k"), Value: []byte("v"), Timestamp: now}
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: "echosieve-input", Value: []byte(input)})
	for i := 0; i < len(headers); i += 2 {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: headers[i], Value: []byte(headers[i+1])})
	}
	return r
}

const verdict, original, originalID, root, rootID = "echosieve-verdict", "echosieve-original",
	"echosieve-original-id", "echosieve-root", "echosieve-root-id"

func unique(input string) *kgo.Record {
	return output("u", input, verdict, "unique", root, input, rootID, "id of "+input)
}

func copyOf(input, of, end string) *kgo.Record {
	return output("d", input, verdict, "near", original, of, originalID, "id of "+of, root, end, rootID, "id of "+end)
}

// extending is a copy of article a in a topic. The share contained of it is in article a.
func extending(input, contained, topic string) *kgo.Record {
	return output(topic, input, verdict, "near", original, a, originalID, "id of "+a, root, a, rootID, "id of "+a,
		"echosieve-relation", "extends", "echosieve-contained", contained)
}

func dead(input, reason string) *kgo.Record { return output("x", input, "echosieve-reason", reason) }

// withoutValue is the dead letter of the broken record with the size of its value.
func withoutValue(size string) *kgo.Record {
	r := output("x", broken, "echosieve-reason", "too_large", "echosieve-value-omitted", size)
	r.Value = nil
	return r
}

func tombstone() *kgo.Record {
	r := output("u", null, verdict, "unique")
	r.Value = nil
	return r
}

// reason is that of the broken record.
func reason(input string) record.RejectReason {
	if input == broken {
		return record.NotJSON
	}
	return ""
}

// runOf has the outputs of a, b and c, and those of the others.
func runOf(outputs []*kgo.Record, rest ...*kgo.Record) Run {
	if rest == nil {
		rest = []*kgo.Record{dead(broken, "not_json"), tombstone()}
	}
	return Run{Inputs: inputs(), Outputs: append(outputs, rest...), Partitions: 2,
		Topics: Topics{Unique: "u", Duplicate: "d", Dead: "x"}, Reason: reason}
}

// kinds are those of the violations of a run.
func kinds(r Run) (all []Kind) {
	for _, v := range r.Check().Violations {
		all = append(all, v.Kind)
	}
	return all
}

func change(r *kgo.Record, f func(*kgo.Record)) *kgo.Record {
	f(r)
	return r
}

func set(r *kgo.Record, header, value string) *kgo.Record {
	return change(r, func(r *kgo.Record) {
		for i := range r.Headers {
			if r.Headers[i].Key == header {
				r.Headers[i].Value = []byte(value)
			}
		}
	})
}

func TestViolationsAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		b       *kgo.Record   // the output of b, if a and c are unique
		outputs []*kgo.Record // else those of a, b and c
		rest    []*kgo.Record // of the others
		want    []Kind
	}{
		"all well": {outputs: []*kgo.Record{unique(a), copyOf(b, a, a), copyOf(c, b, a)}},
		"possible": {outputs: []*kgo.Record{unique(a), set(unique(b), verdict, "possible"), copyOf(c, b, b)}},
		"lost":     {outputs: []*kgo.Record{unique(a), unique(b)}, want: []Kind{Lost}},
		"two verdicts": {outputs: []*kgo.Record{unique(a), unique(b), copyOf(b, a, a), unique(c)},
			want: []Kind{Twice, Contradiction}},
		"unknown input": {outputs: []*kgo.Record{unique(a), unique(b), unique(c), unique("in/3/7")},
			want: []Kind{Stray}},
		"root is a copy": {outputs: []*kgo.Record{unique(a), copyOf(b, a, a), copyOf(c, b, b)}, want: []Kind{WrongRoot}},
		"wrong partition": {outputs: []*kgo.Record{unique(a), unique(b),
			change(unique(c), func(r *kgo.Record) { r.Partition = 0 })}, want: []Kind{Misplaced}},
		"wrong order": {outputs: []*kgo.Record{unique(b), unique(a), unique(c)}, want: []Kind{Order}},

		"good article is dead": {b: dead(b, "no_text"), want: []Kind{Lost}},
		"changed value":        {b: change(unique(b), func(r *kgo.Record) { r.Value = []byte("w") }), want: []Kind{Altered}},
		"copy of itself":       {b: copyOf(b, b, b), want: []Kind{SelfDuplicate}},
		"copy of nothing":      {b: copyOf(b, "in/1/9", "in/1/9"), want: []Kind{Cycle}},
		"no root":              {b: output("u", b, verdict, "unique"), want: []Kind{WrongRoot}},
		"wrong root id":        {b: set(copyOf(b, a, a), rootID, "id of "+b), want: []Kind{WrongRoot}},
		"longer, in duplicate": {b: extending(b, "0.49", "d"), want: []Kind{Misplaced}},
		"little longer":        {b: extending(b, "0.50", "u"), want: []Kind{Misplaced}},

		// only for its reason
		"wrong omitted value": {rest: []*kgo.Record{withoutValue("2"), tombstone()}, want: []Kind{Altered, Misplaced}},
		"broken passes":       {rest: []*kgo.Record{unique(broken), tombstone()}, want: []Kind{Misplaced}},
		"wrong reason":        {rest: []*kgo.Record{dead(broken, "no_text"), tombstone()}, want: []Kind{Misplaced}},
		"null with a root": {rest: []*kgo.Record{dead(broken, "not_json"),
			change(unique(null), func(r *kgo.Record) { r.Value = nil })}, want: []Kind{WrongRoot}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.b == nil {
				test.b = unique(b)
			}
			if test.outputs == nil {
				test.outputs = []*kgo.Record{unique(a), test.b, unique(c)}
			}
			require.Equal(t, test.want, kinds(runOf(test.outputs, test.rest...)))
		})
	}
}

// The member of a verdict stands last, and says what the headers say.
// Of two records that release one article, one is unique for that reason.
func TestReleases(t *testing.T) {
	released := func(input string) *kgo.Record {
		return change(unique(input), func(r *kgo.Record) {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: "echosieve-reason", Value: []byte("released")})
		})
	}
	run := func(outputs ...*kgo.Record) Run {
		r := runOf(outputs)
		for _, input := range []string{b, c} {
			r.Inputs[input].Headers = []kgo.RecordHeader{{Key: pipeline.HeaderRelease, Value: []byte(a)}}
		}
		return r
	}
	require.Empty(t, kinds(run(unique(a), released(b), copyOf(c, b, b))))
	require.Equal(t, []Kind{Misplaced}, kinds(run(unique(a), released(b), released(c))))
	require.Equal(t, []Kind{Misplaced}, kinds(run(unique(a), unique(b), unique(c))))
}

func TestMemberOfAVerdict(t *testing.T) {
	const given = `{"a":1}`
	in := &kgo.Record{Key: []byte("k"), Value: []byte(given), Timestamp: now}
	for value, want := range map[string]string{
		`{"a":1,"m":{"verdict":"unique","record":"` + a + `"}}`: "",
		`{"a":1,"m":{"verdict":"near","record":"` + a + `"}}`:   "value",
		`{"a":1,"m":{"verdict":"unique","record":"` + b + `"}}`: "value",
		`{"m":{"verdict":"unique","record":"` + a + `"},"a":1}`: "value",
		`{"a":2,"m":{"verdict":"unique","record":"` + a + `"}}`: "value",
	} {
		out := unique(a)
		out.Value = []byte(value)
		require.Equal(t, want, Run{Member: "m"}.difference(in, out), value)
		require.Equal(t, "value", Run{}.difference(in, out), value)
	}
}

// A version that has no record of changes, or two, is found, and so is a record that is of none.
func TestChanges(t *testing.T) {
	of := func(offset int64, verdict, relation string) *kgo.Record {
		return &kgo.Record{Topic: "d", Offset: offset, Headers: []kgo.RecordHeader{
			{Key: pipeline.HeaderVerdict, Value: []byte(verdict)}, {Key: pipeline.HeaderRelation, Value: []byte(relation)},
			{Key: pipeline.HeaderRoot, Value: []byte("a/0/1")}}}
	}
	outputs := []*kgo.Record{of(0, "near", "extends"), of(1, "near", "contained"), of(2, "possible", "overlaps")}
	change := func(of, root string) *kgo.Record {
		return &kgo.Record{Topic: "c", Key: []byte(root), Value: []byte(`{"root":{"coordinates":"` + root +
			`"},"why":"original_gone"}`), Headers: []kgo.RecordHeader{{Key: pipeline.HeaderInput, Value: []byte(of)}}}
	}
	first := change("d/0/0", "a/0/1")
	require.Empty(t, CompareChanges(outputs, []*kgo.Record{first}))
	require.Empty(t, CompareChanges(outputs, []*kgo.Record{first, change("d/0/2", "a/0/1")}))
	for name, got := range map[string][]*kgo.Record{
		"missing": {}, "twice": {first, first}, "another root": {change("d/0/0", "a/0/2")},
		"no version": {first, change("d/0/1", "a/0/1")}, "another value": {first, {Value: []byte("{}")}},
	} {
		require.NotEmpty(t, CompareChanges(outputs, got), name)
	}
}
