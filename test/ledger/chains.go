package ledger

import (
	"fmt"
	"maps"
	"slices"

	"echosieve/pipeline"
)

// chains checks that no record is a copy of itself, that from every copy the chain of originals leads to an article that
// is no copy, and that the copy's root is that article. An article that is no copy is its own root. Null values have no
// root. It returns the number of copies whose original is a copy as well.
func chains(seen map[string]*Outcome) (links int, bad []Violation) {
	for _, source := range slices.Sorted(maps.Keys(seen)) {
		o := seen[source]
		if o.Headers[pipeline.HeaderOriginal] == source {
			bad = append(bad, Violation{SelfDuplicate, source + " is a copy of itself"})
			continue
		}
		end, last := source, o
		steps := 0
		for ; steps < len(seen) && last != nil && last.IsCopy(); steps++ {
			end = last.Headers[pipeline.HeaderOriginal]
			last = seen[end]
		}
		root, named := o.Headers[pipeline.HeaderRoot]
		switch {
		case last == nil:
			bad = append(bad, Violation{Cycle, fmt.Sprintf("the chain of %s leads to %s, which was never published", source, end)})
		case o.IsCopy() && !last.IsThrough():
			bad = append(bad, Violation{Cycle, fmt.Sprintf("the chain of %s does not end in an article that is no copy", source)})
		case o.IsThrough() && !o.Null && root != end, o.IsCopy() && root != end:
			bad = append(bad, Violation{WrongRoot, fmt.Sprintf("%s (%s, of %s) names the root %q, but its chain ends in %s",
				source, o.Verdict(), o.Headers[pipeline.HeaderOriginal], root, end)})
		case named && !o.IsThrough() && !o.IsCopy(), named && o.Null:
			bad = append(bad, Violation{WrongRoot, source + " has no text, but a root"})
		}
		if steps > 1 {
			links++
		}
	}
	return links, bad
}

// ids checks that everybody who names an article, as original or as root, gives it the same id: the one that it gives
// itself if it is no copy. Who groups by the ids must find the same groups as by the coordinates.
func ids(seen map[string]*Outcome) (bad []Violation) {
	type name struct{ id, by string }
	known := map[string]name{}
	for _, source := range slices.Sorted(maps.Keys(seen)) {
		h := seen[source].Headers
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
				bad = append(bad, Violation{WrongRoot, fmt.Sprintf("%s is called %q by %s and %q by %s", at, first.id, first.by, id, source)})
				continue
			}
			known[at] = name{id, source}
		}
	}
	return bad
}
