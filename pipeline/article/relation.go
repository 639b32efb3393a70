package article

import (
	"fmt"
	"slices"
	"strconv"
)

// Relation says how the texts of an article and of its original lie to each other. Neither its numbers, which are stored, nor its names,
// which are published, ever change.
type Relation uint8

// The relations of a later article to an earlier one.
const (
	RelationNone Relation = iota // unknown: there is no original, or the recipe does not tell
	Equal                        // neither has words of its own, as far as the rule tells
	Contained                    // the later article is contained in the earlier one
	Extends                      // the later article contains the earlier one and has more
	Revises                      // the id is the same, or one figure was corrected in otherwise the same text
	Overlaps                     // each has words that the other lacks
	relationCount
)

var relationNames = [relationCount]string{"none", "equal", "contained", "extends", "revises", "overlaps"}

// Relations returns all relations, in the order of their numbers.
func Relations() []Relation {
	return []Relation{RelationNone, Equal, Contained, Extends, Revises, Overlaps}
}

// String returns the relation as it stands in headers and metrics. It returns "none" for a number that this version does not know.
func (r Relation) String() string {
	if r >= relationCount {
		r = RelationNone
	}
	return relationNames[r]
}

// ParseRelation returns the relation that has the name.
func ParseRelation(name string) (Relation, error) {
	if i := slices.Index(relationNames[:], name); i >= 0 {
		return Relation(i), nil
	}
	return RelationNone, fmt.Errorf("%q is no relation", name)
}

// Mirrored returns the relation of the earlier article to the later one.
func (r Relation) Mirrored() Relation {
	switch r {
	case Contained:
		return Extends
	case Extends:
		return Contained
	default:
		return r
	}
}

// Share is a share in percent, 0 to 100.
type Share uint8

// NewShare rounds a share between 0 and 1 to percent.
func NewShare(share float64) Share { return Share(100*max(0, min(share, 1)) + 0.5) }

// String returns the share as it stands in headers: "0.83".
func (s Share) String() string { return fmt.Sprintf("%d.%02d", s/100, s%100) }

// ParseShare reads the form that String returns.
func ParseShare(s string) (Share, error) {
	share, err := strconv.ParseFloat(s, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%q is no share between 0 and 1", s)
	}
	return NewShare(share), nil
}

// Likeness is what two articles have in common. The shares are estimates; all of them are 0 where the recipe makes none.
type Likeness struct {
	Relation   Relation
	Similarity Share // word pairs that both articles have, of those that either has
	Contained  Share // of this article's word pairs, those that the original has
	Contains   Share // of the original's word pairs, those that this article has
}

// Added is the share of this article that the original does not have.
func (l Likeness) Added() Share { return 100 - l.Contained }

// SameText is the likeness of articles with equal digests.
var SameText = Likeness{Relation: Equal, Similarity: 100, Contained: 100, Contains: 100}
