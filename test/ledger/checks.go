package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/stories"
	"echosieve/stories/projector"
	"echosieve/test/kafkaserver"
)

// verdicts checks that each record is in the topic of its verdict, that each article and null value has a
// verdict, and that each broken record is a dead letter with the reason of its defect.
func verdicts(r Run, seen map[string]*Outcome) (bad Violations) {
	for _, input := range slices.Sorted(maps.Keys(seen)) {
		o := seen[input]
		want, reason := r.Reason(input), record.RejectReason(o.Headers[pipeline.HeaderReason])
		topic, known := r.Topics.Of(o)
		switch {
		case want == "" && o.Verdict() == "":
			bad.Add(Lost, "%s is not broken, but became a dead letter in %s: %s, %s", input, o.Topic, reason,
				o.Headers[pipeline.HeaderDetail])
		case want != "" && o.Verdict() != "":
			bad.Add(Misplaced, "%s must be a dead letter (%s), but is %s in %s", input, want, o.Verdict(), o.Topic)
		case want != reason && want != "":
			bad.Add(Misplaced, "%s is a dead letter with the reason %q instead of %q", input, reason, want)
		case !known:
			bad.Add(Misplaced, "%s has the verdict %q, which does not exist", input, o.Verdict())
		case o.Topic != topic:
			bad.Add(Misplaced, "%s with the verdict %q is in %s instead of %s", input, o.Verdict(), o.Topic, topic)
		case o.Null && o.Verdict() != article.Unique.String():
			bad.Add(Misplaced, "%s has a null value and the verdict %q", input, o.Verdict())
		}
	}
	return bad
}

// Of returns the topic for an outcome under the default policy. A record without a verdict is a dead letter.
// It is not known for a verdict that does not exist.
func (t Topics) Of(o *Outcome) (topic string, known bool) {
	switch o.Verdict() {
	case "":
		return t.Dead, true
	case article.Unique.String():
		return t.Unique, true
	case article.Possible.String():
		if t.Possible == "" {
			return t.Unique, true
		}
		return t.Possible, true
	case article.Near.String(), article.Exact.String():
		if extendsByMost(o) {
			return t.Unique, true
		}
		return t.Duplicate, true
	default:
		return "", false
	}
}

// extendsByMost says whether more than half of a near copy is not in its original, which the copy contains.
func extendsByMost(o *Outcome) bool {
	contained, err := strconv.ParseFloat(o.Headers[pipeline.HeaderContained], 64)
	return err == nil && o.Headers[pipeline.HeaderRelation] == article.Extends.String() && contained < 0.5
}

// chains checks that no record is a copy of itself, that the chain of originals of every copy ends in an
// article that is no copy, and that this article is the root of the copy. An article that is no copy is its
// own root. Null values have no root. chains returns the number of copies whose original is a copy as well.
func chains(seen map[string]*Outcome) (links int, bad Violations) {
	for _, input := range slices.Sorted(maps.Keys(seen)) {
		o := seen[input]
		if o.Headers[pipeline.HeaderOriginal] == input {
			bad.Add(SelfDuplicate, "%s is a copy of itself", input)
			continue
		}
		end, last := input, o
		steps := 0
		for ; steps < len(seen) && last != nil && last.IsCopy(); steps++ {
			end = last.Headers[pipeline.HeaderOriginal]
			last = seen[end]
		}
		root, named := o.Headers[pipeline.HeaderRoot]
		switch {
		case last == nil:
			bad.Add(Cycle, "the chain of %s leads to %s, which was never published", input, end)
		case o.IsCopy() && !last.IsThrough():
			bad.Add(Cycle, "the chain of %s does not end in an article that is no copy", input)
		case o.IsThrough() && !o.Null && root != end, o.IsCopy() && root != end:
			bad.Add(WrongRoot, "%s (%s, of %s) names the root %q, but its chain ends in %s", input, o.Verdict(),
				o.Headers[pipeline.HeaderOriginal], root, end)
		case named && !o.IsThrough() && !o.IsCopy(), named && o.Null:
			bad.Add(WrongRoot, "%s has no text, but a root", input)
		}
		if steps > 1 {
			links++
		}
	}
	return links, bad
}

// ids checks that all records that name an article as original or as root give it the same id. An application
// that groups by ids must find the same groups as one that groups by coordinates.
func ids(seen map[string]*Outcome) (bad Violations) {
	type name struct{ id, by string }
	known := map[string]name{}
	for _, input := range slices.Sorted(maps.Keys(seen)) {
		h := seen[input].Headers
		for _, pair := range [][2]string{
			{pipeline.HeaderRoot, pipeline.HeaderRootID},
			{pipeline.HeaderOriginal, pipeline.HeaderOriginalID},
		} {
			at, named := h[pair[0]]
			if !named {
				continue
			}
			id := h[pair[1]]
			if first, met := known[at]; met && first.id != id {
				bad.Add(WrongRoot, "%s is called %q by %s and %q by %s", at, first.id, first.by, id, input)
				continue
			}
			known[at] = name{id, input}
		}
	}
	return bad
}

// releases checks that each article that somebody took back is published as unique once. Two calls at the same time can
// publish its record twice: the second one is an exact copy of the first.
func releases(r Run, seen map[string]*Outcome) (bad Violations) {
	through := map[string]int{}
	for input, o := range seen {
		released := Headers(r.Inputs[input])[pipeline.HeaderRelease]
		if n := through[released]; released != "" && o.IsReleased() {
			through[released] = n + 1
		} else if released != "" {
			through[released] = n
		}
	}
	for _, released := range slices.Sorted(maps.Keys(through)) {
		if n := through[released]; n != 1 {
			bad.Add(Misplaced, "%s was released, and is published as unique %d times for that", released, n)
		}
	}
	return bad
}

// lane is the part of an output partition that comes from one input partition.
type lane struct {
	topic     string
	partition int32
	input     article.Coordinates // without an offset
}

// inOrder checks that the records of each input partition are in the output partition that the documentation
// names, which is the input partition modulo the number of output partitions, and in the order of their
// offsets. Redelivered records may be out of order. Example: with 4 output partitions, the records of input
// partition 5 are in partition 1.
func inOrder(outputs []*kgo.Record, partitions int32) (bad Violations) {
	newest := map[lane]int64{}
	seen := make(map[string]bool, len(outputs))
	for _, out := range outputs {
		input := Headers(out)[pipeline.HeaderInput]
		from, err := article.ParseCoordinates(input)
		if err != nil {
			bad.Add(Stray, "%s names the input %q", Coordinates(out), input)
			continue
		}
		if want := from.Partition % partitions; out.Partition != want {
			bad.Add(Misplaced, "%s is in %s instead of partition %d", input, Coordinates(out), want)
		}
		l := lane{out.Topic, out.Partition, article.Coordinates{Topic: from.Topic, Partition: from.Partition}}
		if !seen[input] {
			if last, known := newest[l]; known && from.Offset <= last {
				bad.Add(Order, "%s came after offset %d in %s/%d", input, last, out.Topic, out.Partition)
			}
			newest[l] = max(newest[l], from.Offset)
		}
		seen[input] = true
	}
	return bad
}

// Stories folds the outputs of a service in memory, and returns the records of stories that must come of them, by the
// coordinates of their roots. The values are articles in JSON.
func Stories(inputs map[string]*kgo.Record, outputs []*kgo.Record, window time.Duration) map[string]stories.Record {
	fold := stories.NewFold(&stories.Rules{Window: window})
	decode := decode.DefaultConfig()
	decode.FindPublished = true
	done := map[article.Coordinates]bool{}
	for _, r := range outputs {
		var headers []record.Header
		for _, h := range r.Headers {
			headers = append(headers, record.Header{Key: h.Key, Value: h.Value})
		}
		says, err := pipeline.ParseHeaders(headers)
		in := inputs[says.Input.String()]
		if err != nil || says.Reject != nil || done[says.Input] || in == nil {
			continue
		}
		done[says.Input] = true
		content, _ := decode.Decode(&record.Record{Coordinates: says.Input, Value: in.Value})
		fold.Add(&says.Verdict, article.Ref{ID: content.ID, Coordinates: says.Input}, content, in.Timestamp)
	}
	all := map[string]stories.Record{}
	for _, r := range fold.Records() {
		all[r.Root.Coordinates] = r
	}
	return all
}

// Label adds the labels that records of their topic give to stories.
func Label(all map[string]stories.Record, labels []*kgo.Record) {
	for _, r := range labels {
		root, l, err := stories.ParseLabel(&record.Record{Value: r.Value, Time: r.Timestamp})
		if s, found := all[root.String()]; found && err == nil {
			s.Labels = append(s.Labels, l)
			all[root.String()] = s
		}
	}
	for root, s := range all {
		slices.SortFunc(s.Labels, func(a, b stories.Label) int {
			return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Text, b.Text))
		})
		s.Labels = s.Labels[:min(len(s.Labels), stories.MaxLabels)]
		all[root] = s
	}
}

// LastStories returns the last record of each key in a topic of stories, which has one partition. It returns none as
// long as the topic does not exist.
func LastStories(ctx context.Context, brokers []string, topic string) (map[string]stories.Record, error) {
	records, err := kafkaserver.ReadAll(ctx, brokers, []string{topic})
	all := map[string]stories.Record{}
	for _, r := range records {
		var s stories.Record
		if err := json.Unmarshal(r.Value, &s); err != nil || s.Root.Coordinates != string(r.Key) {
			return nil, fmt.Errorf("%s: the story %s of the key %s: %w", Coordinates(r), r.Value, r.Key, err)
		}
		all[string(r.Key)] = s
	}
	return all, err
}

// Story is a kind of violation: the record of a story is not that which follows from the outputs, or from the state.
const Story Kind = "stories"

// CompareStories returns a violation for each story that is not as wanted. Version and state, which depend on the way
// to a story, may differ.
func CompareStories(want, got map[string]stories.Record) (bad Violations) {
	roots := maps.Clone(want)
	maps.Copy(roots, got)
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		if w, g := plain(want[root]), plain(got[root]); w != g {
			bad.Add(Story, "%s must be\n%s\nand is\n%s", root, w, g)
		}
	}
	return bad
}

// plain is a story as text, without its version and state.
func plain(r stories.Record) string {
	r.Version, r.State = 0, ""
	text, _ := json.Marshal(r) // numbers and strings always marshal
	return string(text)
}

// Change is a kind of violation: the topic of changes does not hold what is new in a version once.
const Change Kind = "changes"

// CompareChanges returns a violation for each copy among the outputs that extends or revises its original, or overlaps
// with it, without exactly one record of the topic of changes under its root, and for each record that is of no output.
// Possible copies may have one, if one publisher published both.
func CompareChanges(outputs, got []*kgo.Record) (bad Violations) {
	roots, may := map[string]string{}, map[string]bool{}
	for _, o := range outputs {
		h := Headers(o)
		switch {
		case h[pipeline.HeaderVerdict] == "possible":
			may[Coordinates(o)] = true
		case slices.Contains([]string{"extends", "revises", "overlaps"}, h[pipeline.HeaderRelation]):
			roots[Coordinates(o)] = h[pipeline.HeaderRoot]
		}
	}
	seen := map[string][]string{} // the records of changes of each output
	for of := range roots {
		seen[of] = nil
	}
	for _, r := range got {
		of := Headers(r)[pipeline.HeaderInput]
		var v projector.Version
		root, must := roots[of]
		switch err := json.Unmarshal(r.Value, &v); {
		case err != nil || v.Root.Coordinates != string(r.Key) || (v.Changes == nil) == (v.Why == ""):
			bad.Add(Change, "%s is no record of a version: %s", Coordinates(r), r.Value)
		case must && root != v.Root.Coordinates, !must && !may[of]:
			bad.Add(Change, "%s is of %s, which has the root %q", Coordinates(r), of, root)
		}
		seen[of] = append(seen[of], fmt.Sprintf("%s of %s", Coordinates(r), r.Timestamp.UTC().Format("15:04:05.000")))
	}
	for _, of := range slices.Sorted(maps.Keys(seen)) {
		if len(seen[of]) != 1 {
			bad.Add(Change, "%s has %d records of changes: %s", of, len(seen[of]), strings.Join(seen[of], ", "))
		}
	}
	return bad
}
