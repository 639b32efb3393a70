package article

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPolicyDestination(t *testing.T) {
	p := Policy{Contained: "duplicate", Extends: "unique", ExtendsShare: .5, Revises: "possible",
		Overlaps: "possible", SameID: "unique"}
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
		"equal":              {Judgement{Kind: Near, Likeness: Likeness{Relation: Equal}}, ToDuplicate},
		"relation not known": {Judgement{Kind: Near}, ToDuplicate},
		"contained":          {Judgement{Kind: Near, Likeness: Likeness{Relation: Contained}}, ToDuplicate},
		"extends":            {Judgement{Kind: Near, Likeness: Likeness{Relation: Extends}}, ToUnique},
		"half of it is new": {Judgement{Kind: Near, Likeness: Likeness{Relation: Extends, Contained: 50}},
			ToDuplicate},
		"more is new": {Judgement{Kind: Near, Likeness: Likeness{Relation: Extends, Contained: 49}}, ToUnique},
		"revises":     {Judgement{Kind: Near, Likeness: Likeness{Relation: Revises}}, ToPossible},
		"overlaps":    {Judgement{Kind: Near, Likeness: Likeness{Relation: Overlaps}}, ToPossible},
		"same id":     {Judgement{Kind: Near, Likeness: Likeness{Relation: Revises}, SameID: true}, ToUnique},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, p.Destination(c.judged)) })
	}
	added := func(contained Share) Judgement {
		return Judgement{Kind: Near, Likeness: Likeness{Relation: Extends, Contained: contained}}
	}
	require.Equal(t, ToDuplicate, DefaultPolicy().Destination(added(50)))
	require.Equal(t, ToUnique, DefaultPolicy().Destination(added(49)))
	require.Equal(t, ToDuplicate, Policy{}.Destination(Judgement{Kind: Near, Likeness: Likeness{Relation: Overlaps}}))
}

func TestPolicyValidate(t *testing.T) {
	require.NoError(t, DefaultPolicy().Validate())
	for key, breakIt := range map[string]func(*Policy){
		"contained is": func(p *Policy) { p.Contained = "dead" }, "extends is": func(p *Policy) { p.Extends = "" },
		"revises is": func(p *Policy) { p.Revises = "Unique" }, "overlaps is": func(p *Policy) { p.Overlaps = "x" },
		"extends_share is": func(p *Policy) { p.ExtendsShare = 1.1 },
		"same_id is":       func(p *Policy) { p.SameID = "x" },
	} {
		p := DefaultPolicy()
		breakIt(&p)
		require.ErrorContains(t, p.Validate(), key)
	}
}
