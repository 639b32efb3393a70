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
	rule := Rule{MaxDistance: 3, Check: func(distance int, a, b []byte) Judgement {
		require.Equal(t, 2, distance)
		require.NotEqual(t, a, b)
		return Judgement{Possible, ReasonOverlap}
	}}
	distanceOnly := Rule{MaxDistance: 3}
	first := article(1, nil)
	for name, c := range map[string]struct {
		rule  Rule
		other *Article
		want  Judgement
	}{
		"same text":          {rule, article(1, func(a *Article) { a.LittleText = true }), Judgement{Exact, ReasonDigest}},
		"both without text":  {rule, article(1, func(a *Article) { a.Empty = true }), Judgement{}},
		"little text":        {rule, article(2, func(a *Article) { a.LittleText = true }), Judgement{0, ReasonLittle}},
		"4 bits away":        {rule, article(2, func(a *Article) { a.Fingerprint = 0b1111 }), Judgement{0, ReasonDistance}},
		"2 bits away":        {rule, article(2, func(a *Article) { a.Fingerprint = 0b11 }), Judgement{Possible, ReasonOverlap}},
		"no second check":    {distanceOnly, article(2, func(a *Article) { a.Fingerprint = 0b111 }), Judgement{Near, ReasonDistance}},
		"no check, too far":  {distanceOnly, article(2, func(a *Article) { a.Fingerprint = 0b1111 }), Judgement{0, ReasonDistance}},
		"no check, no text":  {distanceOnly, article(2, func(a *Article) { a.Empty = true }), Judgement{}},
		"no check, same one": {distanceOnly, first, Judgement{Exact, ReasonDigest}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, c.rule.Compare(first, c.other))
			require.Equal(t, c.want, c.rule.Compare(c.other, first), "not symmetric")
		})
	}
}
