package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
)

// Kind is a kind of violation.
type Kind string

// The kinds of violations.
const (
	Lost          Kind = "lost"           // an input record without an output, or a good article that went to the dead topic
	Contradiction Kind = "contradictions" // two deliveries of one record differ
	Altered       Kind = "altered"        // key, value, timestamp or foreign headers changed
	Stray         Kind = "stray"          // an output that names no input record, or one of an aborted transaction
	SelfDuplicate Kind = "self-duplicates"
	Twin          Kind = "twins"       // two copies of each other, neither held to be one
	Cycle         Kind = "cycles"      // a chain of originals that does not end in an article that is no copy
	WrongRoot     Kind = "wrong roots" // a root that is not the end of the chain, or an id that another article has
	Unrelated     Kind = "unrelated"   // a copy of something that it is no copy of
	LostText      Kind = "lost texts"  // a text of which no article came through as unique
	Misplaced     Kind = "misplaced"   // in another topic or partition than verdict and source ask for, or with the wrong reason
	Order         Kind = "order"
)

// Violation is one broken promise.
type Violation struct {
	Kind Kind
	Text string
}

// Run is what a service was given and what it published.
type Run struct {
	// Inputs are the records of the input topic by their coordinates; of transactions only the committed ones.
	Inputs map[string]*kgo.Record
	// Outputs are the records of the output topics, in the order of their partitions.
	Outputs []*kgo.Record
	Topics  Topics
	// Partitions is the number of partitions that each output topic has.
	Partitions int32
	// Reason returns the reason of the dead letter that an input record must become, empty for a record that must be
	// passed on as an article or as a null value.
	Reason func(source string) pipeline.RejectReason
}

// Topics are the output topics. Possible is empty if such articles go to Unique.
type Topics struct{ Unique, Possible, Duplicate, Dead string }

// Report is what Check found.
type Report struct {
	// Seen holds what became of each input record, by its coordinates. Lost records are not in it.
	Seen map[string]*Outcome
	// Links is the number of copies whose original is a copy as well: those whose root is not their original.
	Links      int
	Violations []Violation
}

// Check checks every promise that needs no knowledge of the articles' texts.
func (r Run) Check() Report {
	seen, bad := account(r.Inputs, r.Outputs)
	bad = append(bad, verdicts(r, seen)...)
	links, wrong := chains(seen)
	bad = append(bad, wrong...)
	bad = append(bad, ids(seen)...)
	bad = append(bad, inOrder(r.Outputs, r.Partitions)...)
	return Report{seen, links, bad}
}

// Outcome is what was published for one input record.
type Outcome struct {
	Topic      string
	Headers    map[string]string
	Deliveries int
	Null       bool // the input record has a null value
}

// Verdict returns the verdict, empty for a dead letter.
func (o *Outcome) Verdict() string { return o.Headers[pipeline.HeaderVerdict] }

// IsCopy says whether the record's verdict is that of a copy.
func (o *Outcome) IsCopy() bool {
	return o.Verdict() == article.Near.String() || o.Verdict() == article.Exact.String()
}

// IsThrough says whether the record was passed on as no copy.
func (o *Outcome) IsThrough() bool { return o.Verdict() != "" && !o.IsCopy() }

// Coordinates names a record by its place, as the headers do.
func Coordinates(r *kgo.Record) string {
	return article.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String()
}

// Headers returns a record's headers; of several of one name the last.
func Headers(r *kgo.Record) map[string]string {
	h := make(map[string]string, len(r.Headers))
	for _, x := range r.Headers {
		h[x.Key] = string(x.Value)
	}
	return h
}

// account assigns each output record to its input record and checks that none is lost and that every delivery of a
// record is the same: one topic, one set of headers, and key, value, timestamp and foreign headers unchanged.
func account(inputs map[string]*kgo.Record, outputs []*kgo.Record) (map[string]*Outcome, []Violation) {
	var bad []Violation
	seen := make(map[string]*Outcome, len(inputs))
	for _, out := range outputs {
		h := Headers(out)
		source := h[pipeline.HeaderSource]
		in := inputs[source]
		if in == nil {
			bad = append(bad, Violation{Stray, fmt.Sprintf("%s names the source %q", Coordinates(out), source)})
			continue
		}
		if what := difference(in, out); what != "" {
			bad = append(bad, Violation{Altered, fmt.Sprintf("the %s of %s changed in %s", what, source, Coordinates(out))})
		}
		o := seen[source]
		if o == nil {
			seen[source] = &Outcome{Topic: out.Topic, Headers: h, Deliveries: 1, Null: in.Value == nil}
			continue
		}
		o.Deliveries++
		if o.Topic != out.Topic || !maps.Equal(o.Headers, h) {
			bad = append(bad, Violation{Contradiction, fmt.Sprintf("%s was delivered as %s %v and as %s %v",
				source, o.Topic, own(o.Headers), out.Topic, own(h))})
		}
	}
	for _, source := range slices.Sorted(maps.Keys(inputs)) {
		if seen[source] == nil {
			bad = append(bad, Violation{Lost, source + " has no output"})
		}
	}
	return seen, bad
}

// difference names what was not passed on unchanged.
func difference(in, out *kgo.Record) string {
	switch {
	case (in.Key == nil) != (out.Key == nil), string(in.Key) != string(out.Key):
		return "key"
	case (in.Value == nil) != (out.Value == nil), string(in.Value) != string(out.Value):
		return "value"
	case in.Timestamp.UnixMilli() != out.Timestamp.UnixMilli():
		return "timestamp"
	case !slices.Equal(foreign(in.Headers), foreign(out.Headers)):
		return "foreign headers"
	default:
		return ""
	}
}

const ownPrefix = "echosieve-"

func own(headers map[string]string) map[string]string {
	kept := maps.Clone(headers)
	maps.DeleteFunc(kept, func(name, _ string) bool { return !strings.HasPrefix(name, ownPrefix) })
	return kept
}

func foreign(headers []kgo.RecordHeader) []string {
	var kept []string
	for _, h := range headers {
		if !strings.HasPrefix(h.Key, ownPrefix) {
			kept = append(kept, fmt.Sprintf("%s=%q null=%t", h.Key, h.Value, h.Value == nil))
		}
	}
	return kept
}
