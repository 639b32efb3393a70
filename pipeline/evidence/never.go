package evidence

import (
	"fmt"
	"strings"
)

// Never are pairs of publishers whose articles are nothing to each other, by the hashes of their names. The hash 0 stands
// for all publishers. Each pair is there both ways.
type Never map[[2]uint32]bool

// ParseNever reads pairs of names of publishers: "a.example b.example", or "a.example *" for one that is compared with
// nobody, itself included.
func ParseNever(pairs []string) (Never, error) {
	never := Never{}
	for _, pair := range pairs {
		names := strings.Fields(pair)
		if len(names) != 2 || names[0] == "*" {
			return nil, fmt.Errorf("never has %q: name two publishers, or one and *", pair)
		}
		one, other := uint32(hashOf(names[0], publisherBits)), uint32(0)
		if names[1] != "*" {
			other = uint32(hashOf(names[1], publisherBits))
		}
		never[[2]uint32{one, other}], never[[2]uint32{other, one}] = true, true
	}
	return never, nil
}

// Names tells whether a pair names the publisher, and whether the publisher is compared with nobody.
func (n Never) Names(publisher string) (named, alone bool) {
	hash := uint32(hashOf(publisher, publisherBits))
	for pair := range n {
		named = named || hash != 0 && pair[0] == hash
	}
	return named, hash != 0 && n[[2]uint32{hash, 0}]
}

// apart tells whether two articles are of such a pair.
func (n Never) apart(c *Comparison) bool {
	p := c.Publishers
	return n[p] || n[[2]uint32{p[0], 0}] && p[0] != 0 || n[[2]uint32{0, p[1]}] && p[1] != 0
}
