package diff

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/command"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/test/commandtest"
	"echosieve/test/inprocess"
	"echosieve/test/kafkatest"
)

const (
	evil  = `<script>alert(1)</script>` + "\u202e"
	hives = "Beekeepers in Westhaven say that office roofs now shelter 52 hives and roughly half a million bees, " +
		"twice the figure of two years ago."
	shadow = "articles-shadow"
)

func run(t *testing.T, code int, w *inprocess.World, args ...string) (out, errOut string) {
	t.Helper()
	return commandtest.Run(t, code, commandtest.Only(Command()), "", append([]string{"diff"}, w.Args(args...)...)...)
}

func diffed(t *testing.T, w *inprocess.World, args ...string) comparison {
	t.Helper()
	return commandtest.Answer[comparison](t, commandtest.Only(Command()),
		append([]string{"diff"}, w.Args(args...)...)...)
}

// withHeaders returns the headers of a record with some of their values replaced, in pairs of name and value.
func withHeaders(headers []kgo.RecordHeader, changed ...string) []kgo.RecordHeader {
	out := slices.Clone(headers)
	for i := 0; i < len(changed); i += 2 {
		out = slices.DeleteFunc(out, func(h kgo.RecordHeader) bool { return h.Key == changed[i] })
		out = append(out, kgo.RecordHeader{Key: changed[i], Value: []byte(changed[i+1])})
	}
	return out
}

// TestDiff changes the verdicts of a run, publishes them as a shadow does, without values, and requires that
// exactly the changes are found.
func TestDiff(t *testing.T) {
	w := inprocess.Start(t)
	w.CreateTopics(t, shadow, "other")
	var values []string
	for i, text := range []string{hives, hives + " " + evil, "<p>" + hives, hives + " Ecologists warn.",
		"Dockers in the port of Riverton call off their strike after three days of talks."} {
		values = append(values, inprocess.Value(fmt.Sprint(i), evil, text))
	}
	all := w.Decide(t, time.Now().Add(-time.Hour), 1, append(values, "{}")...)
	changes := map[string][]string{
		// The flash becomes a near copy, the near copy unique, the exact copy one of another original.
		all[4]: {pipeline.HeaderVerdict, "near", pipeline.HeaderReason, "overlap", pipeline.HeaderDistance, "4",
			pipeline.HeaderOriginal, all[0], pipeline.HeaderOriginalID, "0", pipeline.HeaderRoot, all[0],
			pipeline.HeaderRootID, "0"},
		all[3]: {pipeline.HeaderVerdict, "unique", pipeline.HeaderRoot, all[3]},
		all[2]: {pipeline.HeaderOriginal, all[1], pipeline.HeaderRoot, all[1]},
	}
	topics := w.Config.Kafka.Topics
	for _, o := range w.Verdicts(t, len(all)) {
		input := kafkatest.Header(o, pipeline.HeaderInput)
		for range 2 { // as if it was delivered again
			w.PublishTo(t, &kgo.Record{Topic: shadow, Timestamp: o.Timestamp,
				Headers: withHeaders(o.Headers, changes[input]...)})
		}
	}
	service := topics.Unique + "," + topics.Duplicate + "," + topics.Dead

	t.Run("itself", func(t *testing.T) {
		c := diffed(t, w, service, service)
		require.Equal(t, []int{len(all), len(all)}, []int{c.Both, c.Agree})
		require.Zero(t, c.OnlyA+c.OnlyB+c.OtherOriginal+c.OtherRoot+c.Exchanged)
		require.Equal(t, c.A.Kinds, c.B.Kinds)
		require.Equal(t, 1, c.A.Kinds["dead"])
		require.Empty(t, c.Changes)
	})
	t.Run("changes", func(t *testing.T) {
		c := diffed(t, w, service, shadow)
		require.Equal(t, []int{len(all), len(all), len(all) - 2}, []int{c.Both, c.B.Repeated, c.Agree})
		require.Equal(t, []int{1, 1, 1, 1, 0},
			[]int{c.CopiesOnlyA, c.CopiesOnlyB, c.OtherOriginal, c.OtherRoot, c.Exchanged})
		require.Len(t, c.Changes, 2, "another original is no change")
		for _, change := range c.Changes {
			require.Equal(t, 1, change.Records)
			require.Len(t, change.Samples, 1)
			s := change.Samples[0]
			require.NotEmpty(t, s.Texts, "the shadow has no values: texts come from the input topic")
			switch s.Record {
			case all[3]:
				require.Equal(t, "near", change.A.Verdict)
				require.Equal(t, outcome{Verdict: "unique"}, change.B)
				require.Equal(t, []string{all[0], ""}, []string{s.OriginalA, s.OriginalB})
			default:
				require.Equal(t, all[4], s.Record)
				require.Equal(t, outcome{"near", "overlap"}, change.B)
			}
		}
	})
	t.Run("text", func(t *testing.T) {
		out, _ := run(t, command.ExitOK, w, service, shadow)
		require.Contains(t, out, "unique")
		require.Contains(t, out, "near (overlap)")
		require.NotContains(t, out, "\u202e")
	})
	t.Run("limits", func(t *testing.T) {
		_, errOut := run(t, command.ExitFailed, w, service, shadow, "--most", "3")
		require.Contains(t, errOut, "has more than 3 verdicts; read fewer with --since")
		c := diffed(t, w, service, shadow, "--samples", "0")
		require.Len(t, c.Changes, 2)
		require.Empty(t, c.Changes[0].Samples)
		_, errOut = run(t, command.ExitNo, w, service, shadow, "--since", "30m")
		require.Contains(t, errOut, "has 0")
		require.EqualValues(t, 32, unsafe.Sizeof(verdict{}), "the memory that the help promises")
	})
	t.Run("nothing in common", func(t *testing.T) {
		w.PublishTo(t, &kgo.Record{Topic: "other", Headers: withHeaders(nil, pipeline.HeaderInput, "elsewhere/0/1",
			pipeline.HeaderReason, "no_text")})
		out, errOut := run(t, command.ExitNo, w, service, "other")
		require.Empty(t, out)
		require.Contains(t, errOut, "do both come from one input topic?")
	})
}

// runs makes two sides of what A and B say of records: "u" is unique, "n3" a near copy of record 3, "e3" an
// exact one, "p3" a possible one and "d" a dead letter. Even records are in one partition, odd records in
// another.
func runs(lines ...[2]string) (a, b *side) {
	var sides [2]*side
	at := func(number int64) (place uint32, offset int64) { return uint32(number % 2), number / 2 }
	for i := range sides {
		s := &side{}
		for number, line := range lines {
			v := verdict{kind: article.Unique}
			v.place, v.offset = at(int64(number))
			switch line[i][0] {
			case 'd':
				v.kind = dead
			case 'n', 'e', 'p':
				v.kind = map[byte]article.Kind{'n': article.Near, 'e': article.Exact, 'p': article.Possible}[line[i][0]]
				v.at, v.original = at(int64(line[i][1] - '0'))
			}
			s.verdicts = append(s.verdicts, v)
		}
		slices.SortFunc(s.verdicts, verdict.compare)
		sides[i] = s
	}
	return sides[0], sides[1]
}

// TestOrderIsNoDifference tells articles that changed places from articles that were judged differently.
func TestOrderIsNoDifference(t *testing.T) {
	for name, c := range map[string]struct {
		lines            [][2]string
		agree, exchanged int
	}{
		"original and copy":                    {[][2]string{{"u", "n1"}, {"n0", "u"}}, 2, 2},
		"exact copies":                         {[][2]string{{"u", "e1"}, {"e0", "u"}}, 2, 2},
		"possible copies":                      {[][2]string{{"u", "p1"}, {"p0", "u"}}, 2, 2},
		"another original":                     {[][2]string{{"u", "u"}, {"u", "u"}, {"n0", "n1"}}, 3, 0},
		"a chain from its other end":           {[][2]string{{"u", "n1"}, {"n0", "n2"}, {"n1", "u"}}, 3, 2},
		"the middle of a chain first":          {[][2]string{{"u", "n1"}, {"n0", "u"}, {"u", "n1"}}, 3, 3},
		"a possible copy of what was a copy":   {[][2]string{{"u", "n1"}, {"n0", "p2"}, {"p0", "u"}}, 2, 2},
		"only A finds the copy":                {[][2]string{{"u", "u"}, {"n0", "u"}}, 1, 0},
		"only B finds the copy":                {[][2]string{{"u", "u"}, {"u", "n0"}}, 1, 0},
		"only A finds the possible copy":       {[][2]string{{"u", "u"}, {"p0", "u"}}, 1, 0},
		"a possible copy for B":                {[][2]string{{"u", "u"}, {"n0", "p0"}}, 1, 0},
		"B read the original first, and binds": {[][2]string{{"u", "n1"}, {"u", "u"}, {"n0", "u"}}, 1, 0},
		"dead for B":                           {[][2]string{{"u", "n1"}, {"n0", "d"}}, 1, 1},
		"an original that is not there":        {[][2]string{{"u", "u"}, {"n9", "u"}}, 1, 0},
	} {
		a, b := runs(c.lines...)
		r := join(a, b, 1)
		require.Equal(t, []int{len(c.lines), c.agree, c.exchanged}, []int{r.Both, r.Agree, r.Exchanged}, name)
		changed := 0
		for _, change := range r.Changes {
			changed += change.Records
		}
		require.Equal(t, r.Both-r.Agree, changed, name)
	}
}
