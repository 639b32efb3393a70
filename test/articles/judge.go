package articles

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/record"
	"echosieve/test/ledger"
)

// Findings are the result of Judge.
type Findings struct {
	Texts int // different texts among the inputs; all versions of a chain count as one
	// copies of copies: their roots were compared with the ends of their chains
	Links      int
	Dead       map[record.RejectReason]int // dead letters by their reasons
	Violations ledger.Violations
}

// Judge checks every promise: those of package ledger, and those that need to know which articles are copies
// of each other.
func Judge(run ledger.Run, written *Writer) Findings {
	run.Reason = func(input string) record.RejectReason { return written.Reasons[string(run.Inputs[input].Key)] }
	report := run.Check()
	texts, bad := relate(run.Inputs, report.Seen, written.Facts)
	dead := map[record.RejectReason]int{}
	for _, o := range report.Seen {
		if o.Verdict() == "" {
			dead[record.RejectReason(o.Headers[pipeline.HeaderReason])]++
		}
	}
	return Findings{texts, report.Links, dead, append(report.Violations, bad...)}
}

// member is an article of a family.
type member struct {
	input string // coordinates of its record
	Fact
}

// relate compares the verdicts with the facts, which have the articles' ids as keys. A copy must repeat an
// article of its own family. Of two articles that must match, one must be a copy. One article of each family
// must come through as unique. relate counts the families.
func relate(inputs map[string]*kgo.Record, seen map[string]*ledger.Outcome,
	facts map[string]Fact) (texts int, bad ledger.Violations) {
	families := map[string][]member{}
	at := map[string]Fact{} // by coordinates
	for _, input := range slices.Sorted(maps.Keys(inputs)) {
		if f, known := facts[string(inputs[input].Key)]; known {
			families[f.Family] = append(families[f.Family], member{input: input, Fact: f})
			at[input] = f
		}
	}
	for _, family := range slices.Sorted(maps.Keys(families)) {
		through := false
		for i, a := range families[family] {
			o := seen[a.input]
			if o == nil {
				continue // package ledger reports the loss
			}
			original, named := o.Headers[pipeline.HeaderOriginal]
			of, known := at[original]
			if named && (!known || of.Family != family || o.IsCopy() && !a.MayMatch(of)) {
				bad.Add(ledger.Unrelated, "%s (%s) names as its original %s, which has another text", a.input,
					o.Verdict(), original)
			}
			switch {
			case o.IsReleased(): // whatever it resembles
			case o.IsThrough():
				through = true
				bad = append(bad, twins(a, families[family][:i], seen)...)
			}
		}
		if !through {
			bad.Add(ledger.LostText, "neither article %s nor any of its copies came through as unique", family)
		}
	}
	return len(families), bad
}

// twins returns a violation for each of the others that came through although it must match a, which came
// through as well.
func twins(a member, others []member, seen map[string]*ledger.Outcome) (bad ledger.Violations) {
	for _, b := range others {
		if o := seen[b.input]; o != nil && o.IsThrough() && !o.IsReleased() && a.MustMatch(b.Fact) {
			bad.Add(ledger.Twin, "%s and %s are copies of each other, but neither was published as a copy", b.input,
				a.input)
		}
	}
	return bad
}
