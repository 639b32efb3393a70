package inquiry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/app/config"
	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/text"
)

// People learn which sentences are left out, since when, and how many articles had them by then.
func TestRepeatedSentencesAreTold(t *testing.T) {
	cfg := config.Default()
	made, err := cfg.LoadRecipe()
	require.NoError(t, err)
	rows, judge := &learnt.Rows{}, NewJudge(cfg, made)
	made.LeaveOut(rows)
	const notice = "Sign up here for our letter, which comes each morning."
	begin := time.Date(2026, 5, 4, 13, 0, 0, 0, time.UTC)
	row := learnt.Row{Publisher: "courier", Hash: learnt.Hash(text.Clean(notice)), Articles: 7, Begin: begin,
		Example: article.Coordinates{Topic: "in"},
		End:     begin.Add(learnt.Life)}
	rows.Add(row)
	of := func(publisher, body string, at time.Time) *Article {
		a := &Article{Publisher: publisher, Text: body + notice, Time: at}
		judge.Fingerprint(a)
		return a
	}
	const ferry = "The first ferry that runs on batteries carried 140 passengers across the strait on Monday. "
	a, b := of("courier", ferry, begin), of("herald", ferry, begin)
	require.Equal(t, []Repeated{{text.Clean(notice), "courier", begin, 7}}, a.Repeated)
	require.Empty(t, b.Repeated)
	require.Empty(t, of("courier", ferry, begin.Add(-time.Second)).Repeated, "the row did not count yet")
	require.Empty(t, of("courier", "", begin).Repeated, "an article of which nothing would be left is compared whole")
	require.Equal(t, "left out since 2026-05-04 13:00, repeated by 7 articles of this publisher: "+text.Clean(notice),
		a.Repeated[0].String())
	c := judge.Compare(a, b, false)
	require.Equal(t, a.Repeated, c.A.Repeated)
	require.Empty(t, c.B.Repeated)

	texts := Align(a, b)
	require.True(t, texts[1].Same && texts[1].LeftRepeated && !texts[1].RightRepeated, "greyed where it is left out")
	require.Equal(t, notice, texts[1].Left)

	row.Publisher, row.Begin = learnt.Everybody, time.Time{}
	rows.Add(row)
	require.Equal(t, "left out, repeated by 7 articles of each of 3 publishers: "+text.Clean(notice),
		of("herald", ferry, begin).Repeated[0].String())

	// Of articles of one file it counts behind the article with which it was learnt.
	row.Publisher, row.Example = "gazette", article.Coordinates{Topic: "in", Partition: 1, Offset: 4}
	rows.Clear()
	rows.Add(row)
	for record, want := range map[string]int{"in/1/3": 0, "in/1/4": 0, "in/1/5": 1, "in/2/0": 1} {
		x := &Article{Publisher: "gazette", Text: ferry + notice, Time: begin, Record: record}
		judge.Fingerprint(x)
		require.Len(t, x.Repeated, want, record)
	}
}
