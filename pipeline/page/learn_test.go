package page

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"echosieve/pipeline/article"
	"echosieve/pipeline/text"

	"github.com/stretchr/testify/require"
)

// invented returns an article of n sentences in words that nobody uses.
func invented(random *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		for range 8 {
			fmt.Fprintf(&b, "w%dx ", random.IntN(1_000_000))
		}
		b.WriteString("end. ")
	}
	return b.String()
}

func TestLearnerFindsBoilerplate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	l := NewLearner(10, 0.1)
	add := func(publisher, raw string) { require.True(t, l.Add(article.Content{Publisher: publisher, Text: raw})) }
	repeated := invented(random, 20)
	for i := range 40 {
		add("courier", consent+" "+invented(random, 4)+"\n"+notice+"\nBack to top.")
		add("herald", invented(random, 4)+consent)
		add("gazette", invented(random, 4)+consent)
		add("", invented(random, 4)+zhNotice)
		// one article, published again and again
		add("courier", repeated+fmt.Sprint("Updated for the time number ", i, "."))
		if i < 6 {
			add("gazette", invented(random, 3)+"Only a few articles of this publisher end like this.")
		}
	}
	require.False(t, l.Add(article.Content{Text: "<p>...</p>"}))

	learnt := l.Sentences(nil)
	require.Equal(t, []Sentence{
		{AllPublishers, 120, text.Clean(consent)},
		{NoPublisher, 40, text.Clean(zhNotice)},
		{"courier", 40, text.Clean(notice)},
	}, learnt)
	require.Equal(t, 4, l.Publishers())

	path := filepath.Join(t.TempDir(), "table.tsv")
	var b strings.Builder
	require.NoError(t, AppendBoilerplate(&b, nil, written, begins, learnt[1:]))
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	table, err := ReadBoilerplate(path)
	require.NoError(t, err)
	require.Equal(t, learnt[:1], l.Sentences(table), "sentences that the table has are not learnt again")
}

// Pages that consist of boilerplate for the most part share most of their sentences, like copies.
func TestLearnerFindsLongBoilerplate(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	l := NewLearner(10, 0)
	boilerplate := invented(random, 16)
	for range 200 {
		l.Add(article.Content{Publisher: "courier", Text: invented(random, 4) + boilerplate})
	}
	require.Len(t, l.Sentences(nil), 16)
}

func TestLearnerForgetsRareSentences(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	l := NewLearner(10, 0)
	l.most = 50
	for range 100 {
		l.Add(article.Content{Publisher: "courier", Text: invented(random, 4) + notice})
		require.LessOrEqual(t, len(l.counted), 50)
	}
	require.Equal(t, []Sentence{{"courier", 100, text.Clean(notice)}}, l.Sentences(nil))
}
