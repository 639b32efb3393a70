package ledger

import (
	"fmt"
	"maps"
	"slices"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
)

// verdicts checks that each record is in the topic that its verdict asks for, that what must be passed on has a verdict,
// and that what must become a dead letter is one, with the reason that its defect has.
func verdicts(r Run, seen map[string]*Outcome) (bad []Violation) {
	misplaced := func(format string, args ...any) {
		bad = append(bad, Violation{Misplaced, fmt.Sprintf(format, args...)})
	}
	for _, source := range slices.Sorted(maps.Keys(seen)) {
		o := seen[source]
		want, reason := r.Reason(source), pipeline.RejectReason(o.Headers[pipeline.HeaderReason])
		home, known := r.Topics.of(o)
		switch {
		case want == "" && o.Verdict() == "":
			bad = append(bad, Violation{Lost, fmt.Sprintf("%s is no broken record, but went to %s: %s, %s",
				source, o.Topic, reason, o.Headers[pipeline.HeaderDetail])})
		case want != "" && o.Verdict() != "":
			misplaced("%s must be a dead letter (%s), but is %s in %s", source, want, o.Verdict(), o.Topic)
		case want != reason && want != "":
			misplaced("%s is dead for the reason %q, not %q", source, reason, want)
		case !known:
			misplaced("%s has the verdict %q, which does not exist", source, o.Verdict())
		case o.Topic != home:
			misplaced("%s with the verdict %q is in %s, not in %s", source, o.Verdict(), o.Topic, home)
		case o.Null && o.Verdict() != article.Unique.String():
			misplaced("%s has a null value and the verdict %q", source, o.Verdict())
		}
	}
	return bad
}

// of returns the topic for a verdict; a record without one is a dead letter.
func (t Topics) of(o *Outcome) (topic string, known bool) {
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
		return t.Duplicate, true
	default:
		return "", false
	}
}
