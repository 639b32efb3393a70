package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/text"
	"echosieve/test/newstext"
)

const repeatedNotice = "This page was put together from public sources and is no legal advice."

// A sentence that a publisher repeats is no part of its articles, but of those of others, and of the digest.
func TestRepeatedSentencesAreLeftOut(t *testing.T) {
	r, rows := testRecipe(t), &learnt.Rows{}
	notice := text.Clean(repeatedNotice)
	rows.Add(learnt.Row{Publisher: "courier", Hash: learnt.Hash(notice)})
	r.LeaveOut(rows)
	page := newstext.En + "\n" + repeatedNotice
	of := func(publisher, raw string) article.Article {
		a, _ := r.Fingerprint(raw, article.Origin{Publisher: publisher})
		return a
	}
	plain, courier, herald := of("courier", newstext.En), of("courier", page), of("herald", page)
	require.Equal(t, plain.SimHash, courier.SimHash)
	require.NotEqual(t, plain.Digest, courier.Digest, "exact compares everything")
	require.NotEqual(t, plain.SimHash, herald.SimHash)
	require.Greater(t, courier.RepeatedBytes, len(notice)-1)
	require.Contains(t, courier.Sentences, learnt.Hash(notice), "it still counts as repeated")
	left := r.Repeated(page, article.Origin{Publisher: "courier"})
	require.Len(t, left, 1)
	require.Equal(t, notice, left[0].Text)
	require.Equal(t, notice, r.Sentence(page, learnt.Hash(notice)))

	only := of("courier", repeatedNotice)
	require.False(t, only.LittleText, "an article of which too little would be left is compared whole")
	require.Equal(t, of("herald", repeatedNotice).SimHash, only.SimHash)
}
