// Package ledger accounts for every input record of a service: whether it was lost, decided in two ways,
// altered, published to a wrong topic or partition, or out of order, and whether every chain of originals
// ends in the root that its copies name. The end-to-end tests and the fault runner use it. To add a check:
// checks.go.
package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

// Kind is a kind of violation.
type Kind string

// The kinds of violations.
const (
	// an input record without an output, or a good article that went to the dead topic.
	Lost          Kind = "lost"
	Contradiction Kind = "contradictions"  // two deliveries of one record differ
	Altered       Kind = "altered"         // key, value, timestamp or the headers of others changed
	Stray         Kind = "stray"           // an output that names no input record, or one of an aborted transaction
	SelfDuplicate Kind = "self-duplicates" // a record that names itself as its original
	Twin          Kind = "twins"           // two copies of each other, neither published as a copy
	Cycle         Kind = "cycles"          // a chain of originals that does not end in a unique article
	WrongRoot     Kind = "wrong roots"     // a root that is not the end of its chain, or an article with two ids
	Unrelated     Kind = "unrelated"       // a copy whose original has another text
	LostText      Kind = "lost texts"      // a text without an article that was published as unique
	// a topic or a partition that does not belong to the verdict and the input, or a wrong reason.
	Misplaced Kind = "misplaced"
	Twice     Kind = "twice" // an input record with more than one output
	Order     Kind = "order" // records of one input partition in another order than their offsets
)

// Violation is one broken promise.
type Violation struct {
	Kind Kind
	Text string
}

// Violations are what checks find.
type Violations []Violation

// Add adds one.
func (v *Violations) Add(kind Kind, format string, args ...any) {
	*v = append(*v, Violation{kind, fmt.Sprintf(format, args...)})
}

// Run is the input and the output of a service.
type Run struct {
	// Inputs are the records of the input topic by their coordinates, without those of aborted transactions.
	Inputs map[string]*kgo.Record
	// Outputs are the records of the output topics, in the order of their partitions.
	Outputs []*kgo.Record
	Topics  Topics
	// Member is the name of the member with the verdict that values have. Empty: none has.
	Member string
	// Partitions is the number of partitions that each output topic has.
	Partitions int32
	// Reason returns the reason of the dead letter that an input record must become. It is empty for articles
	// and null values, which must not become dead letters.
	Reason func(input string) record.RejectReason
}

// Topics are the output topics. If Possible is empty, possible copies go to Unique.
type Topics struct{ Unique, Possible, Duplicate, Dead string }

// Report is the result of Check.
type Report struct {
	// Seen holds the outcome of each input record by its coordinates. Lost records have none.
	Seen map[string]*Outcome
	// Links is the number of copies whose original is a copy as well: their root is not their original.
	Links      int
	Violations Violations
}

// Check checks every promise that can be checked without the texts of the articles.
func (r Run) Check() Report {
	seen, bad := account(r)
	bad = append(bad, verdicts(r, seen)...)
	links, wrong := chains(seen)
	bad = append(bad, wrong...)
	bad = append(bad, ids(seen)...)
	bad = append(bad, releases(r, seen)...)
	bad = append(bad, inOrder(r.Outputs, r.Partitions)...)
	return Report{seen, links, bad}
}

// Outcome is the output record of one input record.
type Outcome struct {
	Topic      string
	Headers    map[string]string
	Deliveries int
	Null       bool // the input record has a null value

	first *kgo.Record
}

// Verdict returns the verdict, empty for a dead letter.
func (o *Outcome) Verdict() string { return o.Headers[pipeline.HeaderVerdict] }

// IsCopy says whether the record's verdict is that of a copy.
func (o *Outcome) IsCopy() bool {
	return o.Verdict() == article.Near.String() || o.Verdict() == article.Exact.String()
}

// IsThrough says whether the record was published as unique or as a possible copy.
func (o *Outcome) IsThrough() bool { return o.Verdict() != "" && !o.IsCopy() }

// Coordinates returns topic, partition and offset of a record in the form of the headers.
func Coordinates(r *kgo.Record) string {
	return article.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String()
}

// ByCoordinates returns records by their coordinates.
func ByCoordinates(records []*kgo.Record) map[string]*kgo.Record {
	all := make(map[string]*kgo.Record, len(records))
	for _, r := range records {
		all[Coordinates(r)] = r
	}
	return all
}

// IsReleased says whether the record takes the place of a dropped one, and is unique for this reason alone.
func (o *Outcome) IsReleased() bool {
	return o.Headers[pipeline.HeaderReason] == "released" && o.Verdict() == article.Unique.String()
}

// written says where an output record stands and which producer wrote it.
func written(out *kgo.Record) string {
	return fmt.Sprintf("%s (producer %d, epoch %d)", Coordinates(out), out.ProducerID, out.ProducerEpoch)
}

// Headers returns a record's headers. If several have the same name, the last one counts.
func Headers(r *kgo.Record) map[string]string {
	h := make(map[string]string, len(r.Headers))
	for _, x := range r.Headers {
		h[x.Key] = string(x.Value)
	}
	return h
}

// account assigns each output record to its input record. It checks that no input record is lost, that all
// deliveries of a record have the same topic and headers, and that key, value, timestamp and the headers of
// others are unchanged.
func account(r Run) (map[string]*Outcome, Violations) {
	inputs := r.Inputs
	var bad Violations
	seen := make(map[string]*Outcome, len(inputs))
	for _, out := range r.Outputs {
		h := Headers(out)
		input := h[pipeline.HeaderInput]
		in := inputs[input]
		if in == nil {
			bad.Add(Stray, "%s names the input %q", Coordinates(out), input)
			continue
		}
		if what := r.difference(in, out); what != "" {
			bad.Add(Altered, "the %s of %s changed in %s", what, input, Coordinates(out))
		}
		o := seen[input]
		if o == nil {
			seen[input] = &Outcome{Topic: out.Topic, Headers: h, Deliveries: 1, Null: in.Value == nil, first: out}
			continue
		}
		o.Deliveries++
		bad.Add(Twice, "%s is in %s and before in %s", input, written(out), written(o.first))
		if o.Topic != out.Topic || !maps.Equal(o.Headers, h) {
			bad.Add(Contradiction, "%s was delivered as %s %v and as %s %v", input, o.Topic, ownHeaders(o.Headers),
				out.Topic, ownHeaders(h))
		}
	}
	for _, input := range slices.Sorted(maps.Keys(inputs)) {
		if seen[input] == nil {
			bad.Add(Lost, "%s has no output", input)
		}
	}
	return seen, bad
}

// difference names the first part of the record that is changed in the output, or is empty.
func (r Run) difference(in, out *kgo.Record) string {
	switch {
	case (in.Key == nil) != (out.Key == nil), string(in.Key) != string(out.Key):
		return "key"
	case !omitted(in, out) && ((in.Value == nil) != (out.Value == nil) ||
		string(in.Value) != r.withoutMember(out, in.Value)):
		return "value"
	case in.Timestamp.UnixMilli() != out.Timestamp.UnixMilli():
		return "timestamp"
	case !slices.Equal(othersHeaders(in.Headers), othersHeaders(out.Headers)):
		return "headers of others"
	default:
		return ""
	}
}

// withoutMember returns the value of an output without the member with its verdict, if the member stands last and
// says what the headers say; else the whole value.
func (r Run) withoutMember(out *kgo.Record, input []byte) string {
	value, h := string(out.Value), Headers(out)
	start := strings.TrimSuffix(strings.TrimRight(string(input), " \r\n"), "}")
	v := gjson.Get(value, r.Member)
	if r.Member == "" || value != start+`,"`+r.Member+`":`+v.Raw+"}" ||
		v.Get("verdict").String() != h[pipeline.HeaderVerdict] || v.Get("record").String() != h[pipeline.HeaderInput] ||
		v.Get("original.record").String() != h[pipeline.HeaderOriginal] {
		return value
	}
	return string(input)
}

// omitted says whether the output is a dead letter that names the size of the record's value instead of
// holding the value.
func omitted(in, out *kgo.Record) bool {
	h := Headers(out)
	return out.Value == nil && h[pipeline.HeaderReason] == string(record.TooLarge) &&
		h[pipeline.HeaderValueOmitted] == strconv.Itoa(len(in.Value))
}

const ownPrefix = "echosieve-"

func ownHeaders(headers map[string]string) map[string]string {
	kept := maps.Clone(headers)
	maps.DeleteFunc(kept, func(name, _ string) bool { return !strings.HasPrefix(name, ownPrefix) })
	return kept
}

func othersHeaders(headers []kgo.RecordHeader) []string {
	var kept []string
	for _, h := range headers {
		if !strings.HasPrefix(h.Key, ownPrefix) {
			kept = append(kept, fmt.Sprintf("%s=%q null=%t", h.Key, h.Value, h.Value == nil))
		}
	}
	return kept
}
