package article

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRuleCompare(t *testing.T) {
	article := func(digest byte, change func(*Article)) *Article {
		a := &Article{Digest: Digest{digest}, Signature: []byte{digest}}
		if change != nil {
			change(a)
		}
		return a
	}
	rule := Rule{MaxDistance: 3, Check: func(distance int, later, earlier []byte) Judgement {
		require.Equal(t, 2, distance)
		relation := Contained
		if later[0] > earlier[0] {
			relation = Extends
		}
		return Judgement{Kind: Possible, Reason: ReasonOverlap, Likeness: Likeness{Relation: relation}}
	}}
	distanceOnly := Rule{MaxDistance: 3}
	first := article(1, nil)
	exact := Judgement{Kind: Exact, Reason: ReasonDigest, Likeness: SameText}
	for name, c := range map[string]struct {
		rule  Rule
		other *Article
		want  Judgement
	}{
		"same text":         {rule, article(1, func(a *Article) { a.LittleText = true }), exact},
		"both without text": {rule, article(1, func(a *Article) { a.Empty = true }), Judgement{}},
		"little text": {rule, article(2, func(a *Article) { a.LittleText = true }),
			Judgement{Reason: ReasonLittle}},
		"4 bits away": {rule, article(2, func(a *Article) { a.Fingerprint = 0b1111 }),
			Judgement{Reason: ReasonDistance}},
		"2 bits away": {rule, article(2, func(a *Article) { a.Fingerprint = 0b11 }),
			Judgement{Kind: Possible, Reason: ReasonOverlap, Likeness: Likeness{Relation: Contained}}},
		"no second check": {distanceOnly, article(2, func(a *Article) { a.Fingerprint = 0b111 }),
			Judgement{Kind: Near, Reason: ReasonDistance}},
		"no check, too far": {distanceOnly, article(2, func(a *Article) { a.Fingerprint = 0b1111 }),
			Judgement{Reason: ReasonDistance}},
		"no check, no text":  {distanceOnly, article(2, func(a *Article) { a.Empty = true }), Judgement{}},
		"no check, same one": {distanceOnly, first, exact},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, c.rule.Compare(first, c.other))
			mirrored := c.want
			mirrored.Relation = c.want.Relation.Mirrored()
			require.Equal(t, mirrored, c.rule.Compare(c.other, first), "not mirrored")
		})
	}
}

// The same id makes every copy a revision, except of an equal text. Coordinates in place of an id are no id.
func TestRuleCompareIDs(t *testing.T) {
	rule := Rule{MaxDistance: 3, Check: func(int, []byte, []byte) Judgement {
		return Judgement{Kind: Near, Reason: ReasonOverlap, Likeness: Likeness{Relation: Extends, Similarity: 70}}
	}}
	at := Coordinates{Topic: "t", Offset: 1}
	earlier := &Article{ID: "x", Digest: Digest{1}}
	for name, c := range map[string]struct {
		id       string
		digest   byte
		distance int
		sameID   bool
		relation Relation
	}{
		"same id":           {"x", 2, 0, true, Revises},
		"another id":        {"y", 2, 0, false, Extends},
		"same text":         {"x", 1, 0, true, Equal},
		"different":         {"x", 2, 4, false, RelationNone},
		"no id":             {"", 2, 0, false, Extends},
		"coordinates as id": {at.String(), 2, 0, false, Extends},
	} {
		t.Run(name, func(t *testing.T) {
			later := &Article{ID: c.id, Coordinates: at, Digest: Digest{c.digest}, Fingerprint: 1<<c.distance - 1}
			before := *earlier
			if name == "no id" || name == "coordinates as id" {
				before.ID = c.id
			}
			j := rule.Compare(later, &before)
			require.Equal(t, c.sameID, j.SameID)
			require.Equal(t, c.relation, j.Relation)
		})
	}
}
