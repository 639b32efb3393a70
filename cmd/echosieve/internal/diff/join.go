package diff

import (
	"cmp"
	"slices"

	"echosieve/pipeline/article"
	"echosieve/pipeline/changes"
)

// comparison is the result of the command. Its JSON names must not change.
type comparison struct {
	A             *side    `json:"a"`
	B             *side    `json:"b"`
	Both          int      `json:"both"` // records with a verdict on both sides; all that follows is about them
	OnlyA         int      `json:"only_a"`
	OnlyB         int      `json:"only_b"`
	Agree         int      `json:"agree"`         // equal kinds, near on one side and exact on the other, or exchanged
	Exchanged     int      `json:"exchanged"`     // of those: original and copy changed places, see exchanged
	CopiesOnlyA   int      `json:"copies_only_a"` // A says near or exact, B does not
	CopiesOnlyB   int      `json:"copies_only_b"`
	CopiesBoth    int      `json:"copies_both"`
	OtherOriginal int      `json:"other_original"` // copies on both sides, of different originals
	OtherRoot     int      `json:"other_root"`     // copies on both sides, with different roots
	Changes       []change `json:"changes"`        // what does not agree, the largest first
	Notes         []string `json:"notes"`
}

type outcome struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
}

// change is a set of records to which A and B give different verdicts.
type change struct {
	A       outcome  `json:"a"`
	B       outcome  `json:"b"`
	Records int      `json:"records"`
	Samples []sample `json:"samples"`
}

// sample is one record of a change.
type sample struct {
	Record    string `json:"record"` // of the input
	OriginalA string `json:"original_a,omitempty"`
	OriginalB string `json:"original_b,omitempty"`
	Title     string `json:"title,omitempty"`
	// left the original (of B, unless only A names one), right the article
	Texts []changes.Run `json:"texts,omitempty"`
	Gone  string        `json:"gone,omitempty"` // why there are no texts

	a, b verdict
	rank uint32
}

// join compares two sides, of which both lists are ordered by record, with so many samples of each change.
func join(a, b *side, samples int) comparison {
	r := comparison{A: a, B: b, Changes: []change{}, Notes: []string{}}
	changes := map[[2]outcome]*change{}
	for i := range a.verdicts {
		v := &a.verdicts[i]
		w := b.find(v.place, v.offset)
		if w == nil || r.agree(v, w) {
			continue
		}
		key := [2]outcome{v.outcome(), w.outcome()}
		if changes[key] == nil {
			changes[key] = &change{A: key[0], B: key[1], Samples: []sample{}}
		}
		changes[key].count(v, w, samples)
	}
	r.OnlyA, r.OnlyB = len(a.verdicts)-r.Both, len(b.verdicts)-r.Both
	for _, c := range changes {
		r.Changes = append(r.Changes, *c)
	}
	slices.SortFunc(r.Changes, func(c, d change) int {
		return cmp.Or(cmp.Compare(d.Records, c.Records), cmp.Compare(c.String(), d.String()))
	})
	return r
}

// agree counts a record with a verdict on both sides, and says whether they agree.
func (r *comparison) agree(a, b *verdict) bool {
	r.Both++
	switch {
	case a.kind.IsCopy() && b.kind.IsCopy():
		r.CopiesBoth++
		if a.at != b.at || a.original != b.original {
			r.OtherOriginal++
		}
		if a.root != b.root {
			r.OtherRoot++
		}
	case a.kind == b.kind:
	case exchanged(a, b, r.A, r.B):
		r.Exchanged++
	default:
		if a.kind.IsCopy() {
			r.CopiesOnlyA++
		}
		if b.kind.IsCopy() {
			r.CopiesOnlyB++
		}
		return false
	}
	r.Agree++
	return true
}

// count counts a record. The samples are the records with the lowest hashes: any part of the topics may have them, and
// they are the same the next time.
func (c *change) count(a, b *verdict, samples int) {
	c.Records++
	s := sample{a: *a, b: *b, rank: mix(a.place, a.offset)}
	at, _ := slices.BinarySearchFunc(c.Samples, s.rank,
		func(s sample, rank uint32) int { return cmp.Compare(s.rank, rank) })
	if at < samples {
		c.Samples = slices.Insert(c.Samples, at, s)
		c.Samples = c.Samples[:min(len(c.Samples), samples)]
	}
}

// Two runs read the partitions of their input in different orders. Of two articles that are copies of each
// other, the one that is read first is unique, and the other is the copy. So with the same settings, too,
// original and copy change places. That is no difference between the runs.
//
// Example: for A, y is a copy of x. For B, x is a copy of y. A says unique of x and near of y, B the other way round.

func (s *side) find(place uint32, offset int64) *verdict {
	at, found := slices.BinarySearchFunc(s.verdicts, verdict{place: place, offset: offset}, verdict.compare)
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

// exchanged says whether the order of reading explains why the record of both verdicts is bound to its
// original on one side, and less or not on the other. That side then read the record before the original, and
// compared the original with the record: it binds the original at least as much, to the record or to an
// earlier article. If it does not, or has read the original before, it has judged the two articles
// differently.
func exchanged(a, b *verdict, left, right *side) bool {
	bound, other := a, right
	if strength(b.kind) > strength(a.kind) {
		bound, other = b, left
	}
	if a.kind == dead || b.kind == dead || strength(bound.kind) == 0 || bound.at == bound.place &&
		bound.original < bound.offset {
		return false
	}
	original := other.find(bound.at, bound.original)
	return original != nil && strength(original.kind) >= strength(bound.kind)
}
