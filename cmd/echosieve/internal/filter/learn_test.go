package filter

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"echosieve/app/command"
	"echosieve/test/commandtest"
)

const wireNotice = "This release holds forward-looking statements, which are subject to risks that are " +
	"described in the annual report of the company. Readers should not rely on them, and the company will not correct " +
	"them later. The wire that publishes it has neither checked it nor is it liable for mistakes in the text or in its tables."

// wireReleases returns different press releases of one wire above the same long notice, a line each.
func wireReleases(from, to int) string {
	places := strings.Fields("Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Ivy Juniper Larch Maple Nutmeg Oak Pine Quince")
	things := strings.Fields("bridges ferries mills tunnels towers cranes lamps clocks boilers pumps kilns looms presses " +
		"wells locks quays")
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(line(fmt.Sprint("r", i), fmt.Sprintf("The town of %s will build %d new %s by the river next summer. %s",
			places[i], 100+7*i, things[i], wireNotice), `,"publisher":"wire"`))
	}
	return b.String()
}

// What a wire puts into each of its releases is learnt from the fifth on. Then different releases differ.
func TestRepeatedSentencesAreLearnt(t *testing.T) {
	in := wireReleases(0, 16)
	kinds := func(out string) (kinds []string) {
		for l := range strings.Lines(out) {
			kinds = append(kinds, gjson.Get(l, "echosieve.verdict").Str)
		}
		return kinds
	}
	learning, _ := filtered(t, commandtest.Any, in)
	without, _ := filtered(t, commandtest.Any, in, "--detection.learn=false")
	require.NotContains(t, kinds(learning)[8:], "possible")
	require.Contains(t, kinds(without)[8:], "possible", "the notice makes them alike")
	again, _ := filtered(t, commandtest.Any, in)
	require.Equal(t, learning, again)
}

// The page of drops greys what is left out, from the article on that follows the one with which it was learnt.
func TestDropsPageGreysWhatIsLearnt(t *testing.T) {
	wire := func(id, text string) string { return line(id, text+" "+wireNotice, `,"publisher":"wire"`) }
	in := wire("early", harbour) + wireReleases(0, 8) + wire("late", barley) +
		wire("harbour", "RIVERTON (Press) - "+harbour) + wire("barley", "RIVERTON (Press) - "+barley)
	page := filepath.Join(t.TempDir(), "drops.html")
	out, errOut := filtered(t, command.ExitOK, "", "--html", page, commandtest.File(t, "wire.jsonl", in))
	require.Contains(t, errOut, "3 sentences learnt that publishers repeat")
	require.Contains(t, errOut, "of wire: this release holds")
	for id, want := range map[string]int{"harbour": 3, "barley": 6} { // in one side or in both
		_, html, found := strings.Cut(commandtest.Read(t, page), `data-idb="`+id+`"`)
		require.True(t, found, "%s: %v", id, verdicts(out))
		html, _, _ = strings.Cut(html, "</article>")
		require.Contains(t, html, "Greyed: 3 left out")
		require.Contains(t, html, "left out, repeated by 5 articles of this publisher: this release holds")
		require.Equal(t, want, strings.Count(html, "<s>"), html)
	}
}

// Two runs with --state are as one over both files.
func TestStateKeepsWhatIsLearnt(t *testing.T) {
	dir := t.TempDir()
	first := commandtest.FileIn(t, dir, "1.jsonl", wireReleases(0, 4))
	second := commandtest.FileIn(t, dir, "2.jsonl", wireReleases(4, 16))
	run := func(state string, names ...string) string {
		out, _ := filtered(t, commandtest.Any, "", append([]string{"--state", filepath.Join(dir, state)}, names...)...)
		return out
	}
	whole := run("whole", first, second)
	require.Equal(t, whole, run("parts", first)+run("parts", second))
	require.NotContains(t, strings.Join(verdicts(whole)[7:], " "), "near")
}

// A run that has failed taught nothing: when it is repeated, each article meets the sentences that it met before.
func TestFailedRunTeachesNothing(t *testing.T) {
	dir := t.TempDir()
	first := commandtest.FileIn(t, dir, "1.jsonl", wireReleases(0, 12))
	second := commandtest.FileIn(t, dir, "2.jsonl", wireReleases(12, 16))
	run := func(state string, code int, names ...string) string {
		out, _ := filtered(t, code, "", append([]string{"--state", filepath.Join(dir, state)}, names...)...)
		return out
	}
	damaged := commandtest.FileIn(t, dir, "damaged.json", "["+line("x", barley)+",\n{\"id\":\"x\",\"text\":\"y\nz\"}]")
	failed := run("failed", command.ExitFailed, first, damaged)
	repeated := run("failed", command.ExitOK, first, second)
	require.Equal(t, run("whole", command.ExitOK, first, second), repeated)
	require.True(t, strings.HasPrefix(failed, strings.Join(strings.SplitAfter(repeated, "\n")[:12], "")))
}

// Whose articles are left out for the most part is told.
func TestMostlyLeftOutIsTold(t *testing.T) {
	var in strings.Builder
	for i := range 8 {
		in.WriteString(line(fmt.Sprint(i), fmt.Sprintf("Office %d of the port is closed until Monday. ", i)+
			strings.Repeat("This page is put together from public sources and other pages and ", 4)+"is no advice.",
			`,"publisher":"port"`))
	}
	_, said := filtered(t, commandtest.Any, in.String())
	require.Contains(t, said, "\n3 articles of which more than half is left out of what is compared, by publisher: "+
		"3 port (first stdin/0/6)\n")
}
