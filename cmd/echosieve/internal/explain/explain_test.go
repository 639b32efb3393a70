package explain

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/command"
	"echosieve/app/inquiry"
	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
	"echosieve/test/commandtest"
	"echosieve/test/inprocess"
	"echosieve/test/kafkatest"
)

const (
	ferry = "The first battery-powered ferry on the Ellery Strait carried 140 passengers to Gull Island on Monday, " +
		"replacing a diesel boat that had served the route since 1979. The crossing takes 35 minutes and the vessel " +
		"recharges at the pier in under an hour. Islanders lined the harbour wall to greet it. The operator plans " +
		"two more such boats for the southern islands, where fuel is brought by truck each week."
	bees = "Beekeepers in Westhaven say that office roofs now shelter 52 hives and roughly half a million bees, twice " +
		"the figure of two years ago. Lime trees along the canal provide most of the nectar. " +
		"Ecologists warn that honeybees may crowd out wild species."
)

var (
	second = strings.Replace(ferry, "greet it", "welcome the ship", 1)
	evil   = `<script>alert(1)</script> & "x"` + "\u202e"
)

// value is a record's value with a hostile title.
func value(id, text string) string { return inprocess.Value(id, evil, text) }

func run(t *testing.T, code int, w *inprocess.World, args ...string) (out, errOut string) {
	t.Helper()
	return commandtest.Run(t, code, commandtest.Only(Command()), "", append([]string{"explain"}, w.Args(args...)...)...)
}

func explained(t *testing.T, w *inprocess.World, args ...string) explanation {
	t.Helper()
	return commandtest.Answer[explanation](t, commandtest.Only(Command()),
		append([]string{"explain"}, w.Args(args...)...)...)
}

func TestExplain(t *testing.T) {
	w := inprocess.Start(t)
	all := w.Decide(t, time.Now(), 2, value("a", ferry), value("other", bees), value("b", second),
		value("same", "<p>"+ferry+"</p>"), `{"id":"dead"}`, value("b", bees+" Again."))
	first, unique, near, exact, dead := all[0], all[1], all[2], all[3], all[4]
	outputs := map[string]string{}
	for _, o := range w.Verdicts(t, len(all)) {
		outputs[kafkatest.Header(o, "echosieve-input")] = coordinates(o)
	}

	t.Run("near", func(t *testing.T) {
		x := explained(t, w, near)
		require.Equal(t, x, explained(t, w, outputs[near]), "input and output name the same article")
		require.Equal(t, []string{"near", outputs[near], "b"}, []string{x.Verdict, x.Output, x.Article.ID})
		require.Len(t, x.Chain, 1)
		require.Equal(t, []string{first, "unique"}, []string{x.Chain[0].Record, x.Chain[0].Verdict})
		require.Equal(t, x.Distance, x.Comparison.Distance)
		require.Equal(t, "near", x.Comparison.Kind)
		require.True(t, x.Comparison.Found)
		require.Greater(t, len(x.Comparison.Figures), 3)
		require.Contains(t, x.Comparison.Texts[1].Left, "greet it")
		require.Contains(t, x.Comparison.Texts[1].Right, "welcome the ship")
		require.Empty(t, x.Notes)
	})
	t.Run("exact and dead", func(t *testing.T) {
		x := explained(t, w, exact)
		require.Equal(t, []string{"exact", "digest"}, []string{x.Verdict, x.Reason})
		require.Len(t, x.Comparison.Texts, 1)
		require.Contains(t, x.Comparison.Explanation, "Exact copy")
		x = explained(t, w, dead)
		require.Equal(t, []string{"dead", "no_text"}, []string{x.Verdict, x.Reason})
	})
	t.Run("unique", func(t *testing.T) {
		x := explained(t, w, first)
		require.Equal(t, "unique", x.Verdict)
		require.NotEmpty(t, x.Candidates)
		require.Equal(t, near, x.Candidates[0].Record)
		require.Contains(t, x.Candidates[0].Why, "It came later")
		require.NotEmpty(t, x.Comparison.Texts)
		require.NotEmpty(t, explained(t, w, unique).Candidates, "its copy came later")
	})
	t.Run("by id", func(t *testing.T) {
		x := explained(t, w, "--id", "b")
		require.Equal(t, all[5], x.Article.Record, "the latest")
		require.Contains(t, strings.Join(x.Notes, "\n"), outputs[near])
		_, errOut := run(t, command.ExitNo, w, "--id", "nobody")
		require.Contains(t, errOut, "search further back with --since")
	})
	t.Run("shadow", func(t *testing.T) { // a topic with all verdicts, without values
		w.CreateTopics(t, "articles-shadow")
		var at string
		for _, o := range w.Verdicts(t, len(all)) {
			r := &kgo.Record{Topic: "articles-shadow", Timestamp: o.Timestamp, Headers: o.Headers}
			published := w.PublishTo(t, r)
			if coordinates(o) == outputs[near] {
				at = published
			}
		}
		shadow, service := explained(t, w, at), explained(t, w, near)
		service.Output = shadow.Output
		require.Equal(t, service, shadow, "texts come from the input topic")
	})
	t.Run("text and page", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "why.html")
		out, _ := run(t, command.ExitOK, w, near, "--html", file)
		page := commandtest.Read(t, file)
		for name, text := range map[string]string{"terminal": out, "page": page} {
			require.Contains(t, text, first, name)
			require.Contains(t, text, "near", name)
			require.Contains(t, text, "U+202E", name)
			require.NotContains(t, text, "\u202e", name)
		}
		require.Contains(t, out, "[-greet it-]")
		require.NotContains(t, out, "\x1b", "no terminal, no colors")
		require.Contains(t, page, "<del>greet it</del>")
		require.NotContains(t, page, "<script")
		commandtest.FitsTerminal(t, out)
	})
	t.Run("no record", func(t *testing.T) {
		for _, at := range []string{"articles/0/999", "articles-duplicate/0/999"} {
			out, errOut := run(t, command.ExitNo, w, at)
			require.Empty(t, out)
			require.Contains(t, errOut, "no record is kept at this offset")
			require.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
		}
		run(t, command.ExitFailed, w, "nowhere/0/1")
	})
	t.Run("undecided", func(t *testing.T) {
		w.Stop()
		x := explained(t, w, w.Publish(t, 0, time.Now().Add(time.Minute), value("late", second+" More.")))
		require.Empty(t, x.Verdict)
		require.Contains(t, x.Notes[0], "has not decided it yet")
		require.NotEmpty(t, x.Candidates)
		require.Len(t, x.Notes, 1)
	})
	t.Run("original removed", func(t *testing.T) {
		w.Delete(t, "articles", 0, 1)
		x := explained(t, w, near)
		require.Contains(t, x.Chain[0].Gone, "no record is kept at this offset")
		require.NotNil(t, x.Chain[0].Index, "the index has it")
		require.Equal(t, "unique", x.Chain[0].Index.Verdict)
		require.Equal(t, "near", x.Comparison.Kind, "signatures are enough")
		require.Empty(t, x.Comparison.Texts)
		// The input record is gone, too: its verdict is found without its time, and the output has its text.
		w.Delete(t, "articles", 0, 2)
		x = explained(t, w, near)
		require.Equal(t, "near", x.Verdict)
		require.Positive(t, x.Article.Bytes)
	})
	t.Run("without Redis", func(t *testing.T) {
		w.Redis.Close()
		x := explained(t, w, exact)
		require.Equal(t, "exact", x.Verdict)
		require.Contains(t, x.Notes[len(x.Notes)-1], "the index was not asked: no Redis answers",
			"asked once, at the start")
	})
}

// A copy of a copy that is too far from the root: the chain leads over the copy, also when retention has
// removed the records.
func TestExplainChain(t *testing.T) {
	w := inprocess.Start(t)
	// each of ten words that occur nowhere else, of letters that scanners do not confuse
	sentences := func(from, to int) string {
		var b strings.Builder
		for i := 10 * from; i < 10*to; i++ {
			b.Write([]byte{"ghkoprs"[i%7], "ciotv"[i%5], "cghikoprstv"[i%11], "cghikoprstvxz"[i%13], "kxz"[i%3], ' '})
		}
		return b.String()
	}
	const subject = "ferry ferry ferry bridge bridge bridge harbour harbour harbour channel channel channel " +
		"pilots pilots pilots tugs tugs tugs "
	all := w.Decide(t, time.Now(), 1, value("n0", subject+sentences(0, 12)), value("n1", subject+sentences(2, 15)),
		value("n2", subject+sentences(6, 20)))
	x := explained(t, w, all[2])
	require.Equal(t, "near", x.Verdict)
	require.Len(t, x.Chain, 2)
	require.Equal(t, []string{all[1], "near", all[0], "unique"},
		[]string{x.Chain[0].Record, x.Chain[0].Verdict, x.Chain[1].Record, x.Chain[1].Verdict})
	out, _ := run(t, command.ExitOK, w, all[2])
	require.Contains(t, out, "root      "+all[0])

	w.Delete(t, "articles", 0, 2)
	x = explained(t, w, all[2])
	require.Len(t, x.Chain, 2, "the index knows the chain")
	require.Equal(t, "near", x.Chain[0].Index.Verdict)
	require.Equal(t, all[0], x.Chain[1].Record)
	require.Empty(t, x.Notes)

	w.Redis.FlushAll()
	x = explained(t, w, all[2])
	require.Len(t, x.Chain, 2, "the headers know original and root")
	require.Contains(t, x.Notes[0], "is not known")
	require.Nil(t, x.Comparison)
}

func coordinates(r *kgo.Record) string {
	return fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset)
}

// A hidden entry has the highest ticket there is, but its article may have come first.
func TestWhyNamesHiddenEntries(t *testing.T) {
	unique := &keyspace.StoredArticle{Ticket: 7, Verdict: article.Verdict{Kind: article.Unique}}
	c := &redisindex.Candidate{Judgement: article.Judgement{Kind: article.Near}}
	c.Ticket, c.Hidden = 1<<48-1, true
	require.Contains(t, why(unique, c, ""), "the index hides the other one")
	d := inquiry.Article{Record: "articles/0/2", ID: "articles/0/2"}
	d.SetStored(&c.StoredArticle)
	require.Equal(t, "articles/0/2, hidden in the index with fingerprint 0000000000000000: no later article is a "+
		"copy of it", d.String())
	c.Ticket, c.Hidden = 8, false
	require.Contains(t, why(unique, c, ""), "It came later (ticket 8, this article has 7)")
}

// The page of the last hours has all drops with their texts, and marks of it name records that release takes.
func TestDropsOfTheLastHours(t *testing.T) {
	w := inprocess.Start(t)
	all := w.Decide(t, time.Now(), 2, value("a", ferry), value("b", second), value("same", ferry), value("c", bees))
	file := filepath.Join(t.TempDir(), "drops.html")
	out, _ := run(t, command.ExitOK, w, "--html", file, "--since", "1h")
	require.Contains(t, out, "4 articles; 2 dropped")
	page := commandtest.Read(t, file)
	require.Equal(t, 2, strings.Count(page, "<article "))
	require.Contains(t, page, `data-recordb="`+all[1]+`"`)
	require.Contains(t, page, "<del>greet it</del>")
	require.NotContains(t, page, "<script>alert")
	require.Contains(t, page,
		`<h3 dir="auto">&lt;script&gt;alert(1)&lt;/script&gt; &amp; &#34;x&#34;&lt;U+202E&gt;</h3>`)
}
