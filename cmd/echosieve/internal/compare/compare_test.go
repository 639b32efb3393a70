package compare

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/app/command"
	"echosieve/test/commandtest"
)

const (
	compareText = "The first battery-powered ferry on the Ellery Strait carried 140 passengers to Gull Island on " +
		"Monday, replacing a diesel boat that had served the route since 1979. The crossing takes 35 minutes and the " +
		"vessel recharges at the pier in under an hour. Islanders lined the harbour wall, and the school choir sang."
	compareOther = "Beekeepers in Westhaven say that office roofs now shelter 52 hives and roughly half a million " +
		"bees, twice the figure of two years ago. Lime trees along the canal provide most of the nectar. Hotels pay " +
		"for the hives and serve the harvest at breakfast. Ecologists warn that honeybees may crowd out wild species."
	compareFlash = "Dockers in the port of Riverton call off their strike after three days, unions and employers " +
		"agree on a pay rise."
)

func compared(t *testing.T, code int, in string, args ...string) (out, errOut string) {
	t.Helper()
	return commandtest.Run(t, code, commandtest.Only(Command()), in, append([]string{"compare"}, args...)...)
}

func compareJSON(t *testing.T, args ...string) comparison {
	t.Helper()
	return commandtest.Answer[comparison](t, commandtest.Only(Command()), append([]string{"compare"}, args...)...)
}

func TestCompareVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, a, b, want, explanation string
	}{
		{"markup and punctuation do not count", compareText, "<p>" + strings.ReplaceAll(compareText, ",", " -") +
			"</p>", "exact", "Exact copy"},
		{"another article", compareText, compareOther, "different", "are allowed"},
		{"little text, almost the same", "Dockers call off strike.", "Dockers call off strikes.", "different",
			"only the same text is a copy"},
		{"flash, another name", compareFlash, strings.Replace(compareFlash, "Riverton", "Westhaven", 1), "possible",
			"as flashes need"},
		{"nothing left", compareText, "<script>x()</script> --", "empty", "dead letter"},
	} {
		got := compareJSON(t, c.a, c.b)
		require.Equal(t, c.want, got.Kind, "%s: %d bits", c.name, got.Distance)
		require.Contains(t, got.Explanation, c.explanation, c.name)
	}
}

// compare uses the blocks of the index with the same configuration. Their width does not follow from their
// number alone.
func TestCompareShowsTheLookupsOfTheService(t *testing.T) {
	for _, c := range []struct {
		args                 []string
		blocks, bits, probes int
		lookups              int
	}{
		{nil, 3, 16, 4, 3*5 + 6},
		{[]string{"--redis.expected_articles", "50000000"}, 3, 22, 4, 3*5 + 6},
		{[]string{"--redis.expected_articles", "10000"}, 3, 10, 4, 3*5 + 6},
		{[]string{"--detection.anchors", "0", "--detection.probes", "0"}, 3, 16, 0, 3},
		{[]string{"--recipe", "classic-fnv"}, 4, 16, 0, 4},
	} {
		got := compareJSON(t, append(c.args, compareText, compareText)...)
		require.Equal(t, []int{c.blocks, c.bits, c.probes}, []int{got.Blocks, got.BlockBits, got.Probes}, c.args)
		require.Equal(t, c.lookups, got.Lookups, c.args)
		require.Len(t, got.EqualBlocks, c.blocks, c.args)
		require.True(t, got.Found)
		require.Contains(t, got.FoundBy, "block 0")
	}
}

func TestCompareReadsFilesAndStandardInput(t *testing.T) {
	file := commandtest.File(t, "article.txt", compareText)
	for _, args := range [][]string{{file, compareText}, {"@" + file, compareText}, {compareText, "-"}, {file, "-"}} {
		out, _ := compared(t, command.ExitOK, compareText, args...)
		require.Contains(t, out, "Exact copy", "%q", args)
	}

	record := commandtest.File(t, "article.json", `{"id":"a","text":"x"}`+"\n")
	for _, args := range [][]string{{"@" + record, "x"}, {"x", "-"}} {
		_, errOut := compared(t, command.ExitFailed, `{"text":"x"}`, args...)
		require.Contains(t, errOut, "holds a record, and compare wants its text: type jq -r .text FILE")
	}
	for _, args := range [][]string{{"@" + file + ".missing", "x"}, {"-", "-"}, {"x"}, {"--top", "-1", "x", "y"}} {
		_, errOut := compared(t, command.ExitFailed, "", args...)
		require.NotEmpty(t, errOut, args)
	}
}

func TestCompareShowsAReadableReport(t *testing.T) {
	out, _ := compared(t, command.ExitOK, "", "--top", "5", compareText, compareText+" The ferry was late.")
	for _, want := range []string{"clean text", "distance", "equal blocks", "look-ups", "B finds A by",
		"only in B     late", "weight in A", "more", "recipe news-"} {
		require.Contains(t, out, want)
	}
	commandtest.FitsTerminal(t, out)
	out, _ = compared(t, command.ExitOK, "", "--top", "0", compareText+strings.Repeat("x", 100), compareOther)
	commandtest.FitsTerminal(t, out)
	require.Contains(t, out, "^")
	require.Contains(t, out, "Not a copy")
}

func TestCompareShowsTexts(t *testing.T) {
	other := "<p>" + strings.Replace(compareText, "140", "150", 1) + "</p>"
	out, _ := compared(t, command.ExitOK, "", "--texts", compareText, other)
	require.Contains(t, out, "[-140-]")
	require.Contains(t, out, "{+150+}")
	require.NotContains(t, out, "<p>")
	c := compareJSON(t, "--texts", compareText, other)
	require.Len(t, c.Texts, 3)
	require.Nil(t, compareJSON(t, compareText, other).Texts)
}
