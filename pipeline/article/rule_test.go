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
	rule := Rule{MaxDistance: 3, Check: func(distance int, later, earlier *Article) Judgement {
		require.Equal(t, 2, distance)
		relation := Contained
		if later.Signature[0] > earlier.Signature[0] {
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
			switch c.want.Relation {
			case Contained:
				mirrored.Relation = Extends
			case Extends:
				mirrored.Relation = Contained
			default:
			}
			require.Equal(t, mirrored, c.rule.Compare(c.other, first), "not mirrored")
		})
	}
}

// The same id makes every copy a revision, except of an equal text. Coordinates in place of an id are no id.
func TestRuleCompareIDs(t *testing.T) {
	rule := Rule{MaxDistance: 3, Check: func(int, *Article, *Article) Judgement {
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

func TestPolicyDestination(t *testing.T) {
	p := Policy{Contained: "duplicate", Extends: "unique", Revises: "possible", Overlaps: "possible",
		SameID: "unique"}
	near := func(is Relation) Judgement { return Judgement{Kind: Near, Likeness: Likeness{Relation: is}} }
	added := func(contained Share) Judgement {
		return Judgement{Kind: Near, Likeness: Likeness{Relation: Extends, Contained: contained}}
	}
	for name, c := range map[string]struct {
		judged Judgement
		want   Destination
	}{
		"different": {Judgement{}, ToUnique},
		"possible":  {Judgement{Kind: Possible, Likeness: Likeness{Relation: Extends}}, ToPossible},
		"possible, same id": {Judgement{Kind: Possible, SameID: true, Likeness: Likeness{Relation: Revises}},
			ToPossible},
		"exact":              {Judgement{Kind: Exact, Likeness: SameText}, ToDuplicate},
		"exact, same id":     {Judgement{Kind: Exact, Likeness: SameText, SameID: true}, ToDuplicate},
		"equal":              {near(Equal), ToDuplicate},
		"relation not known": {Judgement{Kind: Near}, ToDuplicate},
		"contained":          {near(Contained), ToDuplicate},
		"extends":            {near(Extends), ToUnique},
		"half of it is new":  {added(50), ToDuplicate},
		"more is new":        {added(49), ToUnique},
		"revises":            {near(Revises), ToPossible},
		"overlaps":           {near(Overlaps), ToPossible},
		"same id":            {Judgement{Kind: Near, Likeness: Likeness{Relation: Revises}, SameID: true}, ToUnique},
		"corrects under its id": {Judgement{Kind: Near, Likeness: Likeness{Relation: Revises}, SameID: true, Corrects: true},
			ToPossible},
		"possible correction": {Judgement{Kind: Possible, Likeness: Likeness{Relation: Revises}, Corrects: true}, ToPossible},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, p.Destination(c.judged)) })
	}
	require.Equal(t, ToDuplicate, DefaultPolicy().Destination(added(50)))
	require.Equal(t, ToUnique, DefaultPolicy().Destination(added(49)))
	require.Equal(t, ToUnique, DefaultPolicy().Destination(near(Revises)))
	require.Equal(t, ToDuplicate, Policy{}.Destination(near(Overlaps)))
}

func TestPolicyValidate(t *testing.T) {
	require.NoError(t, DefaultPolicy().Validate())
	for key, breakIt := range map[string]func(*Policy){
		"contained is": func(p *Policy) { p.Contained = "dead" }, "extends is": func(p *Policy) { p.Extends = "" },
		"revises is": func(p *Policy) { p.Revises = "Unique" }, "overlaps is": func(p *Policy) { p.Overlaps = "x" },
		"same_id is": func(p *Policy) { p.SameID = "x" },
	} {
		p := DefaultPolicy()
		breakIt(&p)
		require.ErrorContains(t, p.Validate(), key)
	}
}

func TestNamesAreRead(t *testing.T) {
	for k := Unique; k <= Possible; k++ {
		parsed, err := ParseKind(k.String())
		require.NoError(t, err)
		require.Equal(t, k, parsed)
	}
	for r := range Reason(len(reasonNames)) {
		parsed, err := ParseReason(r.String())
		require.NoError(t, err)
		require.Equal(t, r, parsed)
	}
	_, err := ParseKind(Kind(0).String())
	require.Error(t, err, "no verdict is no kind of verdict")
	_, err = ParseReason("")
	require.Error(t, err)
}

func TestCoordinatesAreRead(t *testing.T) {
	c := Coordinates{Topic: "news.de-1", Partition: 1<<31 - 1, Offset: 1<<63 - 1}
	parsed, err := ParseCoordinates(c.String())
	require.NoError(t, err)
	require.Equal(t, c, parsed)
	for _, bad := range []string{"", "t", "t/1", "/1/2", "t/1/2/3", "t/-1/2", "t/1/-2", "t/1/+2", "t/2147483648/0",
		"t/0/9223372036854775808", "t/ 1/2"} {
		_, err := ParseCoordinates(bad)
		require.Error(t, err, bad)
	}
}

// Stored numbers and published names.
func TestRelations(t *testing.T) {
	for n, want := range []string{"none", "equal", "contained", "extends", "revises", "overlaps"} {
		r := Relation(n)
		require.Equal(t, want, r.String())
		require.Equal(t, r, Relations()[n])
	}
	require.Equal(t, "none", Relation(99).String())
	require.Len(t, Relations(), len(relationNames))
}

func TestShare(t *testing.T) {
	for share, want := range map[float64]string{0: "0.00", .834: "0.83", .835: "0.84", .07: "0.07", 1: "1.00",
		1.2: "1.00", -.1: "0.00"} {
		require.Equal(t, want, NewShare(share).String())
	}
}
