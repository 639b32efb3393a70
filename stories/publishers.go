package stories

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"echosieve/pipeline/article"
)

const (
	// MaxNamed is the number of publishers that a story keeps by name: those that carried it first.
	MaxNamed = 64
	// maxOthers is the number of further publishers that a story tells apart, by some 12 bytes each. If there are
	// more, their number is an estimate, with a standard error of 0.8 %.
	maxOthers = 16_384
	// hashBits is the length of the hash that stands for a name. In one of 8,000 stories with maxOthers publishers,
	// two of them have the same hash and count as one.
	hashBits = 40
)

// publisher holds the articles of one publisher.
type publisher struct {
	name      string
	articles  int
	revisions int         // articles that revise or extend another one
	first     time.Time   // the time of the earliest article
	ref       article.Ref // the earliest article
	relation  string      // of the earliest article
}

// rootRelation is the relation of a root.
const rootRelation = "root"

// publishers holds articles by publisher. It does not depend on the order in which the articles arrive: of the
// publishers that have lost their name, it keeps enough to bring one back with its counts when an earlier article of
// it arrives.
type publishers struct {
	named   []publisher // the first MaxNamed, by time of their earliest article and by name
	others  []other     // all further ones, by hash; at most maxOthers, those with the lowest hashes
	dropped bool        // there were more than maxOthers
}

// other is a publisher of which only the hash of its name is kept.
type other struct {
	hash                uint64
	first               int64 // in milliseconds since 1970
	articles, revisions uint32
}

func byFirst(a, b publisher) int {
	return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.name, b.name))
}

// byArticle orders publishers by their earliest article. Of several at one time, the root is the first: it was decided
// before its copies.
func byArticle(a, b publisher) int {
	return cmp.Or(a.first.Compare(b.first), compareRoots(a.relation == rootRelation, b.relation == rootRelation),
		a.ref.Compare(b.ref.Coordinates))
}

// with returns the publisher with the articles of more, which has the same name.
func (p publisher) with(more publisher) publisher {
	earlier := p
	if byArticle(more, p) < 0 {
		earlier = more
	}
	earlier.articles, earlier.revisions = p.articles+more.articles, p.revisions+more.revisions
	return earlier
}

// add adds articles of a publisher. All publishers among others come after those named, which only become earlier. So a
// publisher gets its name back only with an earlier article, which tells the rest of it, too.
func (p *publishers) add(one publisher) {
	if i := slices.IndexFunc(p.named, func(n publisher) bool { return n.name == one.name }); i >= 0 {
		if one = p.named[i].with(one); one.first.Equal(p.named[i].first) {
			p.named[i] = one
			return
		}
		p.named = slices.Delete(p.named, i, i+1)
	} else if i, found := p.find(one.name); found {
		o := p.others[i]
		one = publisher{name: one.name, articles: int(o.articles), revisions: int(o.revisions),
			first: time.UnixMilli(o.first).UTC()}.with(one)
		p.others = slices.Delete(p.others, i, i+1)
	}
	i, _ := slices.BinarySearchFunc(p.named, one, byFirst)
	if p.named = slices.Insert(p.named, i, one); len(p.named) <= MaxNamed {
		return
	}
	last := p.named[MaxNamed]
	p.named = p.named[:MaxNamed]
	at, _ := p.find(last.name)
	o := other{hashOf(last.name), last.first.UnixMilli(), uint32(last.articles), uint32(last.revisions)}
	if p.others = slices.Insert(p.others, at, o); len(p.others) > maxOthers {
		p.others, p.dropped = p.others[:maxOthers], true
	}
}

// clone returns a copy that add does not share, with room for one more.
func (p *publishers) clone() publishers {
	return publishers{append(make([]publisher, 0, len(p.named)+1), p.named...), slices.Clone(p.others), p.dropped}
}

// find returns the place of a publisher among others.
func (p *publishers) find(name string) (int, bool) {
	if len(p.others) == 0 {
		return 0, false
	}
	return slices.BinarySearchFunc(p.others, hashOf(name), func(o other, h uint64) int { return cmp.Compare(o.hash, h) })
}

func hashOf(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:]) >> (64 - hashBits)
}

// count returns the number of publishers. It is an estimate if exact is false: the share of all hashes below the
// highest one kept tells how many there are.
func (p *publishers) count() (n int, exact bool) {
	if !p.dropped {
		return len(p.named) + len(p.others), true
	}
	share := float64(p.others[len(p.others)-1].hash) / (1 << hashBits)
	return len(p.named) + int(float64(len(p.others)-1)/share), false
}

// versions counts the articles that revise or extend one, of publishers that have another article in the story.
func (p *publishers) versions() (n int) {
	for i := range p.named {
		n += min(p.named[i].revisions, p.named[i].articles-1)
	}
	for i := range p.others {
		n += int(min(p.others[i].revisions, p.others[i].articles-1))
	}
	return n
}
