package changes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	ferry = "The ferry to Gull Island ran aground on Monday evening. The coast guard says that 12 passengers were " +
		"hurt. A spokeswoman of the shipping line could not say why the boat had left its course. " +
		"The harbour stays closed until the tide has lifted the vessel."
	chinese = "昨晚一艘渡轮在海鸥岛附近搁浅。海警通报称，共有12名乘客受伤。" +
		"航运公司发言人表示，尚不清楚船只偏离航线的原因。港口将关闭至潮水托起船只为止。"
)

// bees are three sentences of another subject.
const bees = " Beekeepers keep hives on the roofs of offices. Lime trees along the canal give most of the nectar. Honey " +
	"from the town is sold at two markets."

const late = " Divers will look at the hull of the boat tomorrow morning."

// plain returns a text some times, without full stops.
func plain(text string, times int) string {
	return strings.Repeat(strings.ReplaceAll(text, ".", "")+" ", times)
}

// with returns a text with some parts replaced.
func with(text string, oldNew ...string) Version {
	return Version{Text: strings.NewReplacer(oldNew...).Replace(text)}
}

func TestKinds(t *testing.T) {
	checkKinds(t, map[string]kindCase{
		"the same": {with(ferry), with("<p>"+ferry+"</p>", ",", " -"), None, Counts{Same: 4}, none},
		"a figure": {with(ferry), with(ferry, "12", "120"),
			Correction, Counts{Same: 3, Changed: 1}, figures("12", "120")},
		"spelled out": {with(ferry), with(ferry, "12", "twelve"), Rewording, Counts{Same: 3, Changed: 1}, none},
		"a figure, reworded": {with(ferry), with(ferry, "The coast guard says that 12 passengers were hurt",
			"By now 19 passengers count as hurt, as the guard of the coast knows"), Update,
			Counts{Same: 3, Changed: 1}, figures("12", "19")},
		"a sentence more": {with(ferry), with(ferry + late), Extension, Counts{Same: 4, Added: 1}, none},
		"a sentence less": {with(ferry + late), with(ferry), Cut, Counts{Same: 4, Removed: 1}, none},
		"reworded": {with(ferry), with(ferry, "could not say why the boat had left", "did not know why the boat left"),
			Rewording, Counts{Same: 3, Changed: 1}, none},
		"split": {with(ferry), with(ferry, "vessel.", "vessel", "could not say why", "could not say. Why"), None,
			Counts{Same: 5}, none},
		"moved": {with(ferry), Version{Text: ferry[56:] + " " + ferry[:55]}, None, Counts{Same: 4}, none},
		"lines above": {Version{Text: "Update 1, 10:15\n" + ferry},
			Version{Text: "Update 2, 11:40\n" + ferry}, Rewording, Counts{Same: 4, Changed: 1}, none},
		"a title": {Version{"Ferry aground", ferry},
			Version{"Ferry aground, 12 hurt", ferry}, Rewording, Counts{Same: 4}, none},
		"another article": {with(ferry), Version{Text: "Beekeepers keep hives on roofs. Lime trees give nectar."},
			Extension, Counts{Added: 2, Removed: 4}, none},
		"Chinese figure": {with(chinese), with(chinese, "12名", "15名"),
			Correction, Counts{Same: 3, Changed: 1}, figures("12", "15")},
		"Chinese numeral": {with(chinese), with(chinese, "12名", "十二名"),
			Rewording, Counts{Same: 3, Changed: 1}, none},
		"Chinese sentence": {with(chinese), with(chinese + "潜水员明早检查船体。"),
			Extension, Counts{Same: 4, Added: 1}, none},
		"Chinese, reworded": {with(chinese), with(chinese, "尚不清楚船只偏离航线的原因", "目前还不知道船只为何偏离航线"), Rewording,
			Counts{Same: 3, Changed: 1}, none},
		"an abbreviation": {with(ferry), with(ferry + " The U.S. sends divers tomorrow morning."), Extension,
			Counts{Same: 4, Added: 1}, none},
		"a name": {Version{"Off Gull Island", ferry}, Version{"Off Tern Island", strings.ReplaceAll(ferry, "Gull", "Tern")},
			Correction, Counts{Same: 3, Changed: 1}, none},
		"nothing": {Version{}, Version{}, None, Counts{}, none},
	})
}

// Lines around an article are no news, nor is what stands within another sentence.
func TestKindsOfLines(t *testing.T) {
	checkKinds(t, map[string]kindCase{
		"marked": {with(ferry), with("CORRECTED - "+ferry+" The boat is corrected to a ferry.", "boat", "ferry"), Correction,
			Counts{Same: 2, Added: 1, Changed: 2}, none},
		"marked, much more": {with(ferry), with("CORRECTED - " + ferry + late + bees), Extension,
			Counts{Same: 3, Added: 4, Changed: 1}, none},
		"another byline": {with(chinese + "\u3010\u7f16\u8f91:\u82d1\u83c1\u83c1\u3011"),
			with(chinese + "\u3010\u7f16\u8f91:\u9648\u6d77\u5cf0\u3011"), Rewording,
			Counts{Same: 4, Changed: 1}, none},
		"a byline more": {with(ferry), with(ferry + "\n\nMore"), Rewording, Counts{Same: 4, Added: 1}, none},
		"the title above": {Version{"Ferry aground", ferry}, Version{"Ferry aground off Gull Island",
			"Ferry aground off Gull Island\n\n" + ferry}, Rewording, Counts{Same: 4, Added: 1}, none},
		"taken from a sentence": {with(ferry), with(ferry + " The boat had left its course."), Rewording,
			Counts{Same: 5}, none},
		"a table": {Version{Text: "Net 634,000\nRevs rose\nShares fell\nNet of taxes"},
			Version{Text: "Net 734,000\nRevs rose\nShares fell\nNet of taxes"}, Correction,
			Counts{Same: 3, Changed: 1}, figures("634,000", "734,000")},
		"without full stops": {with(plain(ferry, 3)), with(plain(ferry, 3) + plain(bees, 1)), Extension,
			Counts{Added: 1, Changed: 1}, Replaced[[]string]{[]string{}, []string{"two"}}},
	})
}

// kindCase is a pair of texts, and what is new in the later one.
type kindCase struct {
	earlier, later Version
	kind           Kind
	counts         Counts
	figures        Replaced[[]string]
}

func checkKinds(t *testing.T, cases map[string]kindCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Between(c.earlier, c.later)
			require.Equal(t, c.kind, got.Kind, "%+v", got)
			require.Equal(t, c.counts, got.Counts, "%+v", got)
			require.Equal(t, c.figures, got.Figures)
			require.False(t, got.Cut)
		})
	}
}

var none = Replaced[[]string]{[]string{}, []string{}}

func figures(old, now string) Replaced[[]string] {
	return Replaced[[]string]{[]string{old}, []string{now}}
}

// What is told of a change is the sentences as people read them, and the words that differ.
func TestSentences(t *testing.T) {
	got := Between(Version{"Aground", ferry}, Version{"Afloat", strings.Replace(ferry, "12", "19", 1) + " Nobody died."})
	require.Equal(t, []string{"Nobody died."}, got.Added)
	require.InDelta(t, 10.0/213, got.NewShare, 0.01)
	require.Equal(t, &Replaced[string]{"Aground", "Afloat"}, got.Title)
	require.Equal(t, "The coast guard says that 12 passengers were hurt.", got.Changed[0].Old)
	require.Equal(t, []Run{{Left: "12 ", Right: "19 "}}, got.Changed[0].Words)
	require.Equal(t, Extension, got.Kind)
}

// Menus around an article are no news.
func TestFurniture(t *testing.T) {
	menu := func(items string) string { return strings.Repeat(items+"\n", 12) + "\n" }
	text := strings.ReplaceAll(ferry, ". ", ".\n\n")
	got := Between(Version{Text: menu("Sport today") + text}, Version{Text: menu("Latest weather") + text})
	require.Equal(t, None, got.Kind, "%+v", got)
}

// Long lists are cut, and so are long texts; counts are of all that is compared.
func TestBounds(t *testing.T) {
	var later strings.Builder
	word := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 3+i/26) }
	for i := range 300 {
		later.WriteString(" The " + word(i) + " " + word(i+300) + " came with the " + word(i+600) + " at noon.")
	}
	got := Between(Version{Text: ferry}, Version{Text: ferry + later.String()})
	require.True(t, got.Cut)
	require.Equal(t, Counts{Same: 4, Added: 300}, got.Counts)
	require.LessOrEqual(t, len(strings.Join(got.Added, "")), mostListed)
	long := strings.Repeat(ferry+" ", 2*mostBytes/len(ferry))
	require.True(t, Between(Version{Text: long}, Version{Text: long}).Cut)
}
