package bench

import (
	"iter"
	"math/rand/v2"
	"strconv"
	"time"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// population makes any number of articles like those of some real ones, without their texts. Fingerprints are
// uniform. Signatures are those of real articles. An anchor that several unrelated real articles share is a
// phrase that everybody uses: made articles have it as often. Other anchors are new. A quarter of the
// articles are later members of a family: an earlier one with some bits changed.
type population struct {
	templates []article.Article
	shared    map[uint64]bool // anchors of several unrelated articles
	at        time.Time       // timestamp of all
}

// The shape of families: a share as in a week of mixed news, and as many differing bits as reposts have.
const (
	familyShare = .25
	familyBits  = 8
	familyReach = 10_000 // originals that can get members at one time
)

// unrelatedBits is the distance from which two articles count as unrelated: copies of one story share phrases
// for another reason.
const unrelatedBits = 22

func newPopulation(templates []article.Article, at time.Time) *population {
	p := &population{templates: templates, shared: map[uint64]bool{}, at: at}
	first := map[uint64]simhash.Fingerprint{}
	for i := range templates {
		for _, anchor := range templates[i].Anchors {
			if fp, seen := first[anchor]; !seen {
				first[anchor] = templates[i].Fingerprint
			} else if simhash.Distance(fp, templates[i].Fingerprint) >= unrelatedBits {
				p.shared[anchor] = true
			}
		}
	}
	return p
}

// articles returns n articles, the same ones at each call. An article is valid until the next one.
func (p *population) articles(n int) iter.Seq2[int, *article.Article] {
	return func(yield func(int, *article.Article) bool) {
		type original struct {
			fingerprint simhash.Fingerprint
			anchors     [8]uint64
			template    int
		}
		r := rand.New(rand.NewPCG(1, 2))
		recent := make([]original, 0, familyReach)
		a := article.Article{Coordinates: article.Coordinates{Topic: "bench-stored"}, Time: p.at}
		id := []byte("https://news.example/2026/")
		start := len(id)
		for i := range n {
			var o original
			if len(recent) > 0 && r.Float64() < familyShare {
				o = recent[r.IntN(len(recent))]
				for range 1 + r.IntN(familyBits) {
					o.fingerprint ^= 1 << r.IntN(64)
				}
			} else {
				o = original{fingerprint: simhash.Fingerprint(r.Uint64()), template: r.IntN(len(p.templates))}
				for j, anchor := range p.templates[o.template].Anchors {
					if o.anchors[j] = r.Uint64(); p.shared[anchor] {
						o.anchors[j] = anchor
					}
				}
				if len(recent) < familyReach {
					recent = append(recent, o)
				} else {
					recent[r.IntN(familyReach)] = o
				}
			}
			id = strconv.AppendInt(id[:start], int64(i), 36)
			template := &p.templates[o.template]
			a.ID, a.Offset, a.Fingerprint, a.Signature = string(id), int64(i), o.fingerprint, template.Signature
			a.Anchors = append(a.Anchors[:0], o.anchors[:len(template.Anchors)]...)
			for j := range a.Digest {
				a.Digest[j] = byte(r.Uint32())
			}
			if !yield(i, &a) {
				return
			}
		}
	}
}
