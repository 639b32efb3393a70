package indextest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

// signed gives an article a signature; see Params.Search.
func signed(c article.Article, signature byte) article.Article {
	c.Signature = []byte{signature}
	return c
}

func testSecondCheck(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	a := signed(newArticle(1, 0, base, "a"), 10)
	copied := signed(newArticle(2, 0, base^1, "b"), 10)
	other := signed(newArticle(3, 0, base^2, "c"), 90)
	similar := signed(newArticle(4, 0, base^4, "d"), 91) // like c, not like a
	both := signed(newArticle(5, 0, base^8, "e"), 11)    // possibly a, and by distance alone anything
	again := signed(newArticle(6, 0, base^4^1, "f"), 91) // a copy of d, which is unique although it is like c
	exactly := signed(newArticle(7, 0, base^1, "b"), 10) // exact repeats are not judged
	near10 := near(a, a, 1)
	near10.Reason, near10.Likeness = article.ReasonOverlap, likeness(a.Signature, copied.Signature)
	possible := func(c, original article.Article, distance int) article.Verdict {
		return article.Verdict{
			Kind: article.Possible, Reason: article.ReasonValues, Likeness: likeness(c.Signature, original.Signature),
			Original: original.Ref(), Root: c.Ref(), Distance: distance, Destination: article.ToPossible,
		}
	}
	nearD := near(similar, similar, 1)
	nearD.Reason, nearD.Likeness = article.ReasonOverlap, near10.Likeness
	want := []article.Verdict{unique(a), near10, unique(other), possible(similar, other, 2), possible(both, a, 1),
		nearD, exact(copied, a)}
	articles := []article.Article{a, copied, other, similar, both, again, exactly}
	require.Equal(t, want, claim(t, x, articles...), "in one call")
	require.Equal(t, want, claim(t, x, articles...), "replay")
	y := newIndex(t, standard)
	for i, c := range articles {
		require.Equal(t, want[i], claimOne(t, y, c), "one by one: %d", i)
	}
}

// lengthy gives an article a signature with a length; see Params.Search.
func lengthy(c article.Article, signature, length byte) article.Article {
	c.Signature = []byte{signature, length}
	return c
}

// related is the verdict of a copy that the second check has judged.
func related(c, original, root article.Article, distance int, to article.Destination) article.Verdict {
	v := near(original, root, distance)
	v.Reason, v.Likeness, v.Destination = article.ReasonOverlap, likeness(c.Signature, original.Signature), to
	return v
}

// A copy that goes to another topic stays a copy: later articles have it as their original, and its root is
// that of its original.
func testRelations(t *testing.T, newIndex factory) {
	p := standard
	p.Policy = article.Policy{Contained: "duplicate", Extends: "unique", Revises: "duplicate", Overlaps: "possible",
		SameID: "duplicate"}
	x := newIndex(t, p)
	a := lengthy(newArticle(1, 0, base, "a"), 10, 50)
	shorter := lengthy(newArticle(2, 0, base^1, "b"), 10, 40)
	longer := lengthy(newArticle(3, 0, base^0b111, "c"), 10, 60)
	rewritten := lengthy(newArticle(4, 0, base^8, "d"), 10, 50)
	ofLonger := lengthy(newArticle(5, 0, base^0b111_0111, "e"), 10, 55) // too far from all but the longer one
	again := lengthy(newArticle(6, 0, base^0b111, "c"), 10, 60)
	articles := []article.Article{a, shorter, longer, rewritten, ofLonger, again}
	want := []article.Verdict{
		unique(a), related(shorter, a, a, 1, article.ToDuplicate), related(longer, a, a, 3, article.ToUnique),
		related(rewritten, a, a, 1, article.ToPossible), related(ofLonger, longer, a, 3, article.ToDuplicate),
		exact(longer, a),
	}
	require.Equal(t, want, claim(t, x, articles...))
	require.Equal(t, want, claim(t, x, articles...), "replay")
}

// Of several originals the one with the id of the article counts, the earliest one of these.
func testSameID(t *testing.T, newIndex factory) {
	p := standard
	p.Policy.SameID = "unique"
	x := newIndex(t, p)
	agency := lengthy(newArticle(1, 0, base, "agency"), 10, 50)
	first := lengthy(newArticle(2, 0, base^1, "v1"), 10, 55)
	second := lengthy(newArticle(3, 0, base^0b11, "v2"), 10, 60)
	third := lengthy(newArticle(4, 0, base^0b1011, "v3"), 10, 65)
	second.ID, third.ID = first.ID, first.ID
	// possibly a copy of all, and the first has its id
	similar := lengthy(newArticle(5, 0, base^0b1, "similar"), 11, 65)
	similar.ID = first.ID
	revision := func(c article.Article, distance int) article.Verdict {
		v := related(c, first, agency, distance, article.ToUnique)
		v.Relation = article.Revises
		return v
	}
	resembles := revision(similar, 0)
	resembles.Kind, resembles.Reason, resembles.Root = article.Possible, article.ReasonValues, similar.Ref()
	resembles.Destination = article.ToPossible
	articles := []article.Article{agency, first, second, third, similar}
	want := []article.Verdict{
		unique(agency), related(first, agency, agency, 1, article.ToDuplicate), revision(second, 1),
		revision(third, 2), resembles,
	}
	require.Equal(t, want, claim(t, x, articles...))
	require.Equal(t, want, claim(t, x, articles...), "replay")

	x = newIndex(t, p)
	for i := range articles {
		articles[i].ID = articles[i].String() // the records have no id
	}
	for _, v := range claim(t, x, articles[:4]...)[1:] {
		require.Equal(t, article.Extends, v.Relation)
		require.Equal(t, articles[0].Ref(), v.Original)
	}
}
