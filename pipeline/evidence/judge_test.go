package evidence

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

const (
	near, possible = article.Near, article.Possible

	byOverlap, byNumbers, byValues = article.ReasonOverlap, article.ReasonNumbers, article.ReasonValues
	bySubject, byLead              = article.ReasonSubject, article.ReasonLead
	byPublisher                    = article.ReasonPublisher
	byDistance, byUnknown          = article.ReasonDistance, article.ReasonUnknown
)

// judge is Judge with the default rule.
func judge(distance int, c Comparison) article.Judgement {
	rule := Rule{Thresholds: DefaultThresholds()}
	return rule.Judge(distance, c)
}

// judged is a change to a comparison, and the judgement of the changed comparison.
type judged struct {
	change func(*Comparison)
	want   article.Kind // zero: different
	reason article.Reason
}

func checkJudge(t *testing.T, base Comparison, cases map[string]judged) {
	rule := Rule{Thresholds: DefaultThresholds()}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			comparison := base
			c.change(&comparison)
			j := rule.Judge(0, comparison)
			require.Equal(t, c.want, j.Kind)
			require.Equal(t, c.reason, j.Reason)
			require.Equal(t, j.Kind == 0, j.Likeness == article.Likeness{})
			row, _, _ := rule.Explain(0, comparison)
			require.Equal(t, comparison.Known, row != nil)
			require.True(t, row == nil || row.Kind == j.Kind && row.Reason == j.Reason,
				"an explanation follows from the row that decides")
		})
	}
}

// values sets all counts of numbers.
func (c *Comparison) values(common, least int) {
	c.CommonValues, c.LeastValues, c.CommonAll, c.LeastAll = common, least, common, least
}

func TestJudge(t *testing.T) {
	long := Comparison{
		Known: true, J: .9, Containment: .89, Bigrams: 300, Longer: 1, SharedContexts: 8, Lead: 1, SameForemost: true,
		OtherMain: 1, Repeated: 3,
	}
	long.values(8, 8)
	checkJudge(t, long, map[string]judged{
		"copy":             {func(*Comparison) {}, near, byOverlap},
		"unknown":          {func(c *Comparison) { *c = Comparison{} }, 0, byUnknown},
		"at the threshold": {func(c *Comparison) { c.J = .44; c.values(2, 2) }, near, byOverlap},
		"below":            {func(c *Comparison) { c.J = .43; c.values(2, 2) }, possible, byOverlap},
		"far below":        {func(c *Comparison) { c.J = .29 }, 0, byOverlap},
		"all main words":   {func(c *Comparison) { c.J, c.OtherMain = .3, 0 }, near, byOverlap},
		"but not below":    {func(c *Comparison) { c.J, c.OtherMain = .29, 0 }, 0, byOverlap},
		"all but one":      {func(c *Comparison) { c.J, c.OtherMain = .42, 0; c.values(6, 7) }, possible, byOverlap},
		"all, with the version's": {func(c *Comparison) { c.J, c.OtherMain, c.CommonAll, c.LeastAll = .42, 0, 8, 9 },
			possible, byOverlap},
		"all, contradicted": {func(c *Comparison) { c.J, c.OtherMain, c.Contradictions = .42, 0, 1 },
			possible, byOverlap},
		"contained, as long": {func(c *Comparison) { c.J, c.Containment = .42, .9; c.values(0, 0) },
			possible, byOverlap},
		"other things":            {func(c *Comparison) { c.J, c.OtherMain = .63, 4 }, possible, byOverlap},
		"other things, same text": {func(c *Comparison) { c.J, c.OtherMain = .64, 4 }, near, byOverlap},
		"a few contradictions":    {func(c *Comparison) { c.J, c.Contradictions = .7, 1 }, near, byOverlap},
		"many contradictions":     {func(c *Comparison) { c.Contradictions = 3 }, 0, byNumbers},
		"a correction": {func(c *Comparison) {
			c.J, c.Contradictions, c.SharedContexts = .75, 1, 3
		}, near, byOverlap},
		"no correction":  {func(c *Comparison) { c.J, c.Contradictions, c.SharedContexts = .69, 1, 3 }, 0, byNumbers},
		"the only place": {func(c *Comparison) { c.Contradictions, c.SharedContexts = 1, 1 }, 0, byNumbers},
		"corrected, other names": {func(c *Comparison) {
			c.Contradictions, c.SharedContexts, c.SameForemost = 1, 3, false
		}, 0, byNumbers},
		"not in place":       {func(c *Comparison) { c.SameForemost = false; c.values(7, 8) }, near, byOverlap},
		"other values":       {func(c *Comparison) { c.values(3, 8) }, possible, byValues},
		"one value missing":  {func(c *Comparison) { c.values(1, 2) }, near, byOverlap},
		"less alike":         {func(c *Comparison) { c.J = .69; c.values(1, 2) }, possible, byValues},
		"the only value":     {func(c *Comparison) { c.values(0, 1) }, near, byOverlap},
		"two values missing": {func(c *Comparison) { c.values(1, 3) }, possible, byValues},
		"in its place, too":  {func(c *Comparison) { c.Contradictions = 1; c.values(1, 2) }, possible, byValues},
		"no values":          {func(c *Comparison) { c.values(0, 0) }, near, byOverlap},
		"and another version": {func(c *Comparison) {
			c.Contradictions, c.SharedContexts, c.HeadContradictions = 1, 3, 1
		}, 0, byNumbers},
		"another version":   {func(c *Comparison) { c.J, c.HeadContradictions = .7, 2 }, near, byOverlap},
		"or another report": {func(c *Comparison) { c.J, c.HeadContradictions = .69, 2 }, 0, byNumbers},
		"other names":       {func(c *Comparison) { c.OtherSubject = true }, possible, bySubject},
		"another list":      {func(c *Comparison) { c.Lead, c.OtherMain = .29, 3 }, possible, byLead},
		"of another version": {func(c *Comparison) { c.Lead, c.OtherMain, c.HeadContradictions = .29, 3, 1 },
			possible, byLead},
		"another standfirst": {func(c *Comparison) { c.Lead, c.OtherMain = .29, 2 }, near, byOverlap},
		"some of the beginning": {func(c *Comparison) { c.Lead, c.OtherMain, c.Repeated = halfLead+.01, 3, 0 }, near,
			byOverlap},
		"above one disclaimer": {func(c *Comparison) { c.J, c.Lead, c.Repeated = .97, halfLead, 2 }, possible, byLead},
		"short, with words that stand once": {func(c *Comparison) { c.Bigrams, c.Lead, c.Repeated = 79, 0, 0 }, near,
			byOverlap},
	})
}

func TestJudgeShort(t *testing.T) {
	short := Comparison{Known: true, J: .9, Containment: .89, Bigrams: 79, Longer: 1, SharedContexts: 8, Lead: 1,
		SameForemost: true}
	short.values(7, 7)
	checkJudge(t, short, map[string]judged{
		"short": {func(*Comparison) {}, near, byOverlap},
		"lower": {func(c *Comparison) { c.J = .63 }, possible, byOverlap},
		"a part": {func(c *Comparison) {
			c.J, c.Longer, c.Containment, c.OtherMain = .3, 1.5, .9, 2
			c.values(2, 2)
		}, near, byOverlap},
		"with other names": {func(c *Comparison) {
			c.J, c.Longer, c.Containment, c.OtherMain, c.Growth = .6, 1.5, .9, 3, 1
			c.values(2, 2)
		}, possible, byOverlap},
		"another version": {func(c *Comparison) { c.J, c.HeadContradictions = .7, 1 }, near, byOverlap},
		"a daily report": {func(c *Comparison) { c.J, c.HeadContradictions, c.SharedContexts = .69, 1, 5 },
			0, byNumbers},
		"a contradiction":       {func(c *Comparison) { c.Contradictions, c.SharedContexts = 1, 6 }, 0, byNumbers},
		"one value missing":     {func(c *Comparison) { c.values(1, 2) }, near, byOverlap},
		"the only value":        {func(c *Comparison) { c.values(0, 1) }, possible, byValues},
		"reworded, not as such": {func(c *Comparison) { c.J, c.SameValues = .42, true }, possible, byOverlap},
	})
}

// A part of a text and its whole need less in common, if the whole is about the subject of the part.
func TestJudgePart(t *testing.T) {
	part := Comparison{Known: true, J: .3, Containment: .9, Bigrams: 300, Longer: 2, SharedContexts: 3, Lead: 1,
		SameForemost: true, OtherMain: 5, Growth: .3}
	part.values(5, 5)
	checkJudge(t, part, map[string]judged{
		"a part":               {func(*Comparison) {}, near, byOverlap},
		"too small":            {func(c *Comparison) { c.J = .29 }, 0, byOverlap},
		"as long":              {func(c *Comparison) { c.J, c.Longer = .4, 1.24 }, possible, byOverlap},
		"not contained":        {func(c *Comparison) { c.Containment = .89; c.OtherMain = 3 }, possible, byOverlap},
		"in a round-up":        {func(c *Comparison) { c.J, c.Growth = .4, .29 }, possible, byOverlap},
		"of other names":       {func(c *Comparison) { c.J, c.OtherMain = .4, 6 }, possible, byOverlap},
		"on a page":            {func(c *Comparison) { c.Growth, c.OtherMain = 0, 2 }, near, byOverlap},
		"half of the page":     {func(c *Comparison) { c.J, c.Growth = .44, 0 }, near, byOverlap},
		"with another subject": {func(c *Comparison) { c.OtherSubject = true }, near, byOverlap},
		"of another subject": {func(c *Comparison) { c.J, c.OtherSubject, c.Growth = .9, true, .29 },
			possible, bySubject},
		"below another text":       {func(c *Comparison) { c.Lead = 0 }, near, byOverlap},
		"of a later version":       {func(c *Comparison) { c.HeadContradictions = 2 }, near, byOverlap},
		"a number corrected":       {func(c *Comparison) { c.Contradictions = 1; c.values(4, 5) }, near, byOverlap},
		"two numbers differ":       {func(c *Comparison) { c.Contradictions = 1; c.values(3, 5) }, 0, byNumbers},
		"a number was cut in two":  {func(c *Comparison) { c.values(4, 5) }, near, byOverlap},
		"corrected, another name":  {func(c *Comparison) { c.Contradictions, c.SameForemost = 1, false }, 0, byNumbers},
		"corrected, the one place": {func(c *Comparison) { c.Contradictions, c.SharedContexts = 1, 1 }, 0, byNumbers},
	})
	require.Equal(t, near, judge(17, part).Kind, "farther away than others")
	part.Longer = 1.24
	require.Equal(t, article.Judgement{Reason: byDistance}, judge(17, part))
}

// Main words that differ tell of another report if the distance is large, too.
func TestOtherWords(t *testing.T) {
	base := Comparison{Known: true, J: .64, Containment: .8, Bigrams: 300, Longer: 1.3, OtherMain: 4, Lead: 1}
	require.Equal(t, bySubject, judge(13, base).Reason)
	require.Equal(t, near, judge(12, base).Kind)
	part := base
	part.Containment = .9
	require.Equal(t, near, judge(13, part).Kind)
	base.OtherMain = 3
	require.Equal(t, near, judge(13, base).Kind)
}

func TestJudgeReworded(t *testing.T) {
	reworded := Comparison{
		Known: true, J: .15, Containment: .3, Bigrams: 130, Longer: 1.1, SharedContexts: 2, SameValues: true,
		OtherMain: 3, Lead: 1,
	}
	reworded.values(4, 4)
	checkJudge(t, reworded, map[string]judged{
		"reworded":           {func(*Comparison) {}, near, byOverlap},
		"too little is left": {func(c *Comparison) { c.J = .14 }, 0, byOverlap},
		"one more number":    {func(c *Comparison) { c.SameValues = false }, 0, byOverlap},
		"three numbers":      {func(c *Comparison) { c.values(3, 3) }, 0, byOverlap},
		"in another place":   {func(c *Comparison) { c.Contradictions = 1 }, near, byOverlap},
		"other main words":   {func(c *Comparison) { c.OtherMain = 4 }, 0, byOverlap},
		"longer":             {func(c *Comparison) { c.Longer = 1.25 }, 0, byOverlap},
		"short":              {func(c *Comparison) { c.Bigrams = 79 }, 0, byOverlap},
		"another subject":    {func(c *Comparison) { c.OtherSubject = true }, possible, bySubject},
	})
	require.Equal(t, near, judge(17, reworded).Kind)
	reworded.OtherMain = 4
	require.Equal(t, byDistance, judge(17, reworded).Reason)
}

// Two numbers vouch for a reworded article if the foremost main words are the same and more of the words.
func TestJudgeRewordedWithFewNumbers(t *testing.T) {
	reworded := Comparison{
		Known: true, J: .3, Containment: .5, Bigrams: 130, Longer: 1.1, SharedContexts: 2, SameValues: true,
		SameForemost: true, OtherMain: 3, Lead: 1,
	}
	reworded.values(2, 2)
	checkJudge(t, reworded, map[string]judged{
		"reworded":           {func(*Comparison) {}, near, byOverlap},
		"too little is left": {func(c *Comparison) { c.J = .29 }, 0, byOverlap},
		"one number":         {func(c *Comparison) { c.values(1, 1) }, possible, byOverlap},
		"one more number":    {func(c *Comparison) { c.SameValues = false }, possible, byOverlap},
		"in another place":   {func(c *Comparison) { c.Contradictions = 1 }, 0, byNumbers},
		"other main words":   {func(c *Comparison) { c.SameForemost = false }, possible, byOverlap},
		"longer":             {func(c *Comparison) { c.Longer = 1.25 }, possible, byOverlap},
		"short":              {func(c *Comparison) { c.Bigrams = 79 }, possible, byOverlap},
	})
	require.Equal(t, byDistance, judge(17, reworded).Reason)
}

// The beginning of an article is a copy although the estimates of similarity and containment are low, as they
// are of a third of an article.
func TestJudgeBeginning(t *testing.T) {
	page := Comparison{
		Known: true, J: .2, Contains: .75, Containment: .75, Contained: .23, Bigrams: 93, Longer: 3.1,
		SharedContexts: 2,
		Lead:           1, SameLead: true, OtherMain: 3, Growth: 1,
	}
	page.values(4, 5)
	checkJudge(t, page, map[string]judged{
		"page 1":              {func(*Comparison) {}, near, byOverlap},
		"another beginning":   {func(c *Comparison) { c.SameLead = false }, 0, byOverlap},
		"not contained":       {func(c *Comparison) { c.Containment = .74 }, 0, byOverlap},
		"too little is left":  {func(c *Comparison) { c.J = .14 }, 0, byOverlap},
		"of a round-up":       {func(c *Comparison) { c.Growth = .1 }, 0, byOverlap},
		"as long":             {func(c *Comparison) { c.Longer = 1.2 }, 0, byOverlap},
		"two numbers missing": {func(c *Comparison) { c.values(3, 5) }, possible, byValues},
		"other numbers":       {func(c *Comparison) { c.Contradictions = 1 }, 0, byNumbers},
		"short":               {func(c *Comparison) { c.Bigrams = 79 }, near, byOverlap},
		"short, other names":  {func(c *Comparison) { c.Bigrams, c.J, c.OtherMain = 79, .44, 6 }, near, byOverlap},
		"and less in common":  {func(c *Comparison) { c.Bigrams, c.J, c.OtherMain = 79, .43, 6 }, possible, byOverlap},
	})
	require.Equal(t, article.Extends, judge(17, page).Relation)
	page.Contains, page.Contained = page.Contained, page.Contains
	require.Equal(t, article.Contained, judge(17, page).Relation)
	page.SameLead = false
	require.Equal(t, byDistance, judge(17, page).Reason)
}

// A row that is switched off decides nothing.
func TestRowsOff(t *testing.T) {
	c := Comparison{Known: true, J: .9, Bigrams: 300, Longer: 1, OtherSubject: true, Lead: 1}
	for i, row := range Rows() {
		rule := Rule{Thresholds: DefaultThresholds()}
		rule.Off.Rows = 1 << i
		want := possible
		if row.Reason == bySubject {
			want = near
		}
		require.Equal(t, want, rule.Judge(0, c).Kind, row.When)
	}
}

// Each pair of kind and reason stands in one row, so that an explanation is never that of another row.
func TestRows(t *testing.T) {
	type decision struct {
		kind   article.Kind
		reason article.Reason
	}
	seen := map[decision]bool{}
	for _, row := range Rows() {
		d := decision{row.Kind, row.Reason}
		require.False(t, seen[d], row.When)
		seen[d] = true
		require.NotEmpty(t, row.Says)
	}
	require.LessOrEqual(t, len(Rows()), 9)
}

func TestFigures(t *testing.T) {
	rule := Rule{Thresholds: DefaultThresholds()}
	c := Comparison{Known: true, J: .9, Bigrams: 300, Longer: 1, Lead: 1}
	require.Len(t, rule.Figures(3, c), len(Rows())-2, "three rows have one figure")
	require.Empty(t, rule.Figures(3, Comparison{}))
	_, figure, with := rule.Explain(3, c)
	require.Equal(t, Figure{"word pairs in both", "0.90", "a copy from 0.44", "detection.near"}, figure)
	require.Equal(t, "no other evidence", with)
}

func TestThresholds(t *testing.T) {
	require.NoError(t, DefaultThresholds().Validate())
	for want, change := range map[string]func(*Thresholds){
		"near is 1.5":       func(t *Thresholds) { t.Near = 1.5 },
		"short_near is 1.1": func(t *Thresholds) { t.ShortNear = 1.1 },
		"values is NaN":     func(t *Thresholds) { t.Values = math.NaN() },
		"possible is 0.6":   func(t *Thresholds) { t.Possible = .6 },
	} {
		thresholds := DefaultThresholds()
		change(&thresholds)
		require.ErrorContains(t, thresholds.Validate(), want)
	}
}

// The id of a recipe names each row, in order.
func TestFormat(t *testing.T) {
	require.Len(t, strings.Split(Format(), "/"), len(rows)+1)
	require.Contains(t, Format(), "rows none/distance none/overlap none/numbers possible/values")
}

// A publisher's second text is another report unless it is one sent again, or one that the publisher corrects.
func TestOnePublisher(t *testing.T) {
	again := Comparison{Known: true, J: .9, Contained: .96, Contains: .96, Containment: .96, Bigrams: 300, Longer: 1,
		SharedContexts: 3, Lead: 1, SameForemost: true, OnePublisher: true}
	again.values(3, 3)
	checkJudge(t, again, map[string]judged{
		"sent again":       {func(*Comparison) {}, near, byOverlap},
		"two days later":   {func(c *Comparison) { c.Apart = 48 * time.Hour }, possible, byPublisher},
		"a number missing": {func(c *Comparison) { c.values(2, 3) }, near, byOverlap},
		"a number more":    {func(c *Comparison) { c.NewNumber = true }, possible, byPublisher},
		"another number": {
			func(c *Comparison) { c.Contradictions, c.SharedContexts = 1, 9 }, possible, byPublisher},
		"other words":              {func(c *Comparison) { c.Contained = .7 }, possible, byPublisher},
		"other words, but unknown": {func(c *Comparison) { c.Contained, c.OnePublisher = .7, false }, near, byOverlap},
		"other main words, two titles": {func(c *Comparison) { c.OtherTitle, c.SameForemost = true, false }, possible,
			byPublisher},
		"other main words, one title": {func(c *Comparison) { c.SameForemost = false }, near, byOverlap},
		"one address":                 {func(c *Comparison) { c.Contained, c.SameAddress = .7, true }, near, byOverlap},
		"one id":                      {func(c *Comparison) { c.Contained, c.SameID = .7, true }, near, byOverlap},
		"a correction":                {func(c *Comparison) { c.Contained, c.Correction = .7, true }, near, byOverlap},
		"a part, much longer before":  {func(c *Comparison) { c.Contained, c.Contains = 1, .4 }, near, byOverlap},
		"one title, short":            {func(c *Comparison) { c.J, c.Bigrams = 1, 30 }, near, byOverlap},
		"two titles, short": {
			func(c *Comparison) { c.J, c.Bigrams, c.OtherTitle = 1, 30, true }, possible, byPublisher},
		"two titles, a flash": {func(c *Comparison) {
			c.J, c.Containment, c.Contained, c.Flash, c.OtherTitle = 1, 1, 1, true, true
		}, possible, byPublisher},
		"two titles, long": {func(c *Comparison) { c.J, c.OtherTitle = 1, true }, near, byOverlap},
		"two titles, one page": {func(c *Comparison) {
			c.J, c.Bigrams, c.OtherTitle, c.SameID = 1, 30, true, true
		}, near, byOverlap},
	})
	c := again
	c.Correction, c.Apart = true, 48*time.Hour
	j := judge(0, c)
	require.True(t, j.Corrects, "whatever differs: what is not sampled is not seen")
	require.Equal(t, article.Revises, j.Relation)
	c.Correction, c.SameID = false, true
	require.False(t, judge(0, c).Corrects, "only the layout differs")
	c.OtherMain = 1
	require.True(t, judge(0, c).Corrects, "sent again under its id, with another name")
	c.OnePublisher = false
	require.False(t, judge(0, c).Corrects, "of whom nobody knows")
}

// What one publisher published alone may stand below all articles of another one.
func TestFooter(t *testing.T) {
	footer := Comparison{Known: true, J: .5, Contained: .5, Contains: 1, Containment: 1, Bigrams: 60, Longer: 2, Lead: 1,
		SameForemost: true, NewLead: true, TwoPublishers: true}
	checkJudge(t, footer, map[string]judged{
		"another publisher's":  {func(*Comparison) {}, possible, byLead},
		"a report that grew":   {func(c *Comparison) { c.NewLead, c.SameLead = false, true }, near, byOverlap},
		"nobody knows whose":   {func(c *Comparison) { c.TwoPublishers = false }, near, byOverlap},
		"below a few words":    {func(c *Comparison) { c.J, c.Longer = .9, 1.1 }, near, byOverlap},
		"a text of its length": {func(c *Comparison) { c.Bigrams = 200 }, near, byOverlap},
	})
}

func TestIsCorrection(t *testing.T) {
	for text, want := range map[string]bool{
		"CORRECTED-LILLY INDUSTRIAL": true, "(Correction) Mill": true, "【更正】春江": true,
		"更新：春江": true, "": false,
		"Correctional officers strike": false, "更新换代的列车": false, "Mill corrected": false,
	} {
		require.Equal(t, want, IsCorrection(text), text)
	}
}

func buildFlash(b *Builder, text string) []byte {
	list := words(text)
	b.Add(list)
	b.AddNumbers(text, 0)
	return b.AppendFlash(nil, list)
}

const goldenFlash = "0e2d000000000400000200000000000000000000000000000080000000000010000000" +
	"000010000000000000000000b00000d000000000d00000000000800000080020000000006000000000100080680000000000000000"

// See TestGolden.
func TestGoldenFlash(t *testing.T) {
	var b Builder
	require.Equal(t, goldenFlash, hex.EncodeToString(buildFlash(&b, "the port handled 1,200 ships in 2025")))
}

func TestJudgeFlash(t *testing.T) {
	flash := Comparison{Known: true, Flash: true, J: .6, Containment: 1, Bigrams: 10, SharedContexts: 1,
		LeastValues: 2, CommonValues: 2}
	checkJudge(t, flash, map[string]judged{
		"contained":         {func(*Comparison) {}, near, byOverlap},
		"much added":        {func(c *Comparison) { c.J = .3 }, near, byOverlap},
		"too much added":    {func(c *Comparison) { c.J = .29 }, 0, byOverlap},
		"a word in between": {func(c *Comparison) { c.J, c.Containment = .9, .99 }, possible, byOverlap},
		"another number":    {func(c *Comparison) { c.J, c.Contradictions = .9, 1 }, 0, byNumbers},
		"a number less":     {func(c *Comparison) { c.J, c.CommonValues = .9, 1 }, possible, byValues},
		"no numbers": {func(c *Comparison) { c.SharedContexts, c.LeastValues, c.CommonValues = 0, 0, 0 },
			near, byOverlap},
	})
}
