package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/ledger"
)

// findings are what judge found.
type findings struct {
	texts      int // different texts among the inputs; the versions of a chain count as one
	links      int // copies of copies, whose roots were compared with the ends of their chains
	dead       map[pipeline.RejectReason]int
	violations []ledger.Violation
}

// judge checks every promise, with what the desk knows of the records that it wrote.
func judge(run ledger.Run, d *desk) findings {
	run.Reason = func(source string) pipeline.RejectReason { return d.reasons[string(run.Inputs[source].Key)] }
	report := run.Check()
	texts, bad := relate(run.Inputs, report.Seen, d)
	dead := map[pipeline.RejectReason]int{}
	for _, o := range report.Seen {
		if o.Verdict() == "" {
			dead[pipeline.RejectReason(o.Headers[pipeline.HeaderReason])]++
		}
	}
	return findings{texts, report.Links, dead, append(report.Violations, bad...)}
}

// member is an article of a group.
type member struct {
	source string
	fact
}

// relate checks the verdicts against what the desk knows of its articles: of two certain copies one is held to be one, a copy
// repeats an article of its own group, and of each text an article came through. It counts the texts.
func relate(inputs map[string]*kgo.Record, seen map[string]*ledger.Outcome, d *desk) (texts int, bad []ledger.Violation) {
	groups := map[string][]member{}
	facts := map[string]fact{} // by coordinates
	for _, source := range slices.Sorted(maps.Keys(inputs)) {
		if f, known := d.facts[string(inputs[source].Key)]; known {
			groups[f.group] = append(groups[f.group], member{source, f})
			facts[source] = f
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		through := false
		for i, a := range groups[group] {
			o := seen[a.source]
			if o == nil {
				continue // lost, and counted as such
			}
			original, named := o.Headers[pipeline.HeaderOriginal]
			of, known := facts[original]
			if named && (!known || of.group != group || o.IsCopy() && !a.mayRepeat(of)) {
				bad = append(bad, ledger.Violation{Kind: ledger.Unrelated, Text: fmt.Sprintf("%s (%s) repeats %s, which is another text", a.source, o.Verdict(), original)})
			}
			if o.IsThrough() {
				through = true
				bad = append(bad, twins(a, groups[group][:i], seen)...)
			}
		}
		if !through {
			bad = append(bad, ledger.Violation{Kind: ledger.LostText, Text: fmt.Sprintf("no article of %s and its copies came through", group)})
		}
	}
	return len(groups), bad
}

// twins finds those of the others that are certain copies of a, which came through, and came through as well.
func twins(a member, others []member, seen map[string]*ledger.Outcome) (bad []ledger.Violation) {
	for _, b := range others {
		if o := seen[b.source]; o != nil && o.IsThrough() && a.certain(b.fact) {
			bad = append(bad, ledger.Violation{Kind: ledger.Twin, Text: fmt.Sprintf("%s and %s are copies of each other and neither is held to be one", b.source, a.source)})
		}
	}
	return bad
}
