package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/ledger"
)

// relate checks the verdicts against what the desk knows of its articles: of two certain copies one is held to be one,
// and a copy repeats an article of its own group. It counts the texts, and those of which no article got through.
func relate(inputs map[string]*kgo.Record, seen map[string]*ledger.Outcome, d *desk) (bad []ledger.Violation, lostTexts, texts int) {
	type member struct {
		source string
		fact
	}
	groups := map[int][]member{}
	groupOf := map[string]int{} // by coordinates
	for _, source := range slices.Sorted(maps.Keys(inputs)) {
		if f, known := d.facts[string(inputs[source].Key)]; known {
			groups[f.group] = append(groups[f.group], member{source, f})
			groupOf[source] = f.group
		}
	}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		through := false
		for i, a := range groups[g] {
			o := seen[a.source]
			if o == nil {
				continue // lost, and counted as such
			}
			original, isCopy := o.Headers[pipeline.HeaderOriginal]
			if isCopy && groupOf[original] != a.group {
				bad = append(bad, ledger.Violation{Kind: ledger.Unrelated, Text: fmt.Sprintf("%s repeats %s, which is another text", a.source, original)})
			}
			if !o.IsThrough() {
				continue
			}
			through = true
			for _, b := range groups[g][:i] {
				if other := seen[b.source]; other != nil && other.IsThrough() && a.certain(b.fact) {
					bad = append(bad, ledger.Violation{Kind: ledger.Twin, Text: fmt.Sprintf("%s and %s are copies of each other and neither is held to be one", b.source, a.source)})
				}
			}
		}
		if !through {
			lostTexts++
		}
	}
	return bad, lostTexts, len(groups)
}
