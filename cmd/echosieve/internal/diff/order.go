package diff

import (
	"slices"

	"echosieve/pipeline/article"
)

// Two runs read the partitions of their input in different orders. Of two articles that are copies of each other, the one that is read first is
// unique, and the other is the copy. So with the same settings, too, original and copy change places. That is no difference between the runs.
//
// Example: for A, y is a copy of x. For B, x is a copy of y. A says unique of x and near of y, B the other way round.

// find returns what the side says of a record, or nil.
func (s *side) find(place uint32, offset int64) *verdict {
	at, found := slices.BinarySearchFunc(s.verdicts, verdict{place: place, offset: offset}, func(v, w verdict) int { return v.compare(&w) })
	if !found {
		return nil
	}
	return &s.verdicts[at]
}

// strength orders kinds by how much they bind an article to an earlier one.
func strength(k article.Kind) int {
	switch {
	case k.IsCopy():
		return 2
	case k == article.Possible:
		return 1
	default:
		return 0
	}
}

// exchanged says whether the order of reading explains why the record of both verdicts is bound to its original on one side, and less or not
// on the other. That side then read the record before the original, and compared the original with the record: it binds the original at
// least as much, to the record or to an earlier article. If it does not, or has read the original before, it has judged the two articles
// differently.
func exchanged(a, b *verdict, left, right *side) bool {
	bound, other := a, right
	if strength(b.kind) > strength(a.kind) {
		bound, other = b, left
	}
	if a.kind == dead || b.kind == dead || strength(bound.kind) == 0 || bound.at == bound.place && bound.original < bound.offset {
		return false
	}
	original := other.find(bound.at, bound.original)
	return original != nil && strength(original.kind) >= strength(bound.kind)
}
