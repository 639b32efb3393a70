package signature

import (
	"math"
	"testing"

	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

// judged is a change to a comparison, and the judgement of the changed comparison.
type judged struct {
	change func(*Comparison)
	want   article.Kind // zero: different
	reason article.Reason
}

func checkJudge(t *testing.T, base Comparison, cases map[string]judged) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			comparison := base
			c.change(&comparison)
			j := Judge(0, comparison, DefaultThresholds())
			require.Equal(t, c.want, j.Kind)
			require.Equal(t, c.reason, j.Reason)
			require.Equal(t, j.Kind == 0, j.Likeness == article.Likeness{})
		})
	}
}

func TestJudge(t *testing.T) {
	long := Comparison{
		Known: true, J: .9, Containment: 1, Bigrams: 300, Longer: 1, SharedContexts: 8, LeastValues: 8, CommonValues: 8, Lead: 1, SameForemost: true,
	}
	checkJudge(t, long, map[string]judged{
		"copy":                 {func(*Comparison) {}, article.Near, article.ReasonOverlap},
		"unknown":              {func(c *Comparison) { *c = Comparison{} }, 0, article.ReasonUnknown},
		"at the threshold":     {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .46, 3, 3, .84 }, article.Near, article.ReasonOverlap},
		"below":                {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .45, 3, 3, .84 }, article.Possible, article.ReasonOverlap},
		"far below":            {func(c *Comparison) { c.J = .29 }, 0, article.ReasonOverlap},
		"numbers vouch":        {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .41, 4, 4, .6 }, article.Near, article.ReasonOverlap},
		"but not below":        {func(c *Comparison) { c.J, c.Containment = .40, 1 }, article.Possible, article.ReasonOverlap},
		"all but one":          {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .42, 7, 6, .6 }, article.Possible, article.ReasonOverlap},
		"all but one of many":  {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .42, 9, 8, .6 }, article.Near, article.ReasonOverlap},
		"vouch, contradicted":  {func(c *Comparison) { c.J, c.Contradictions, c.Containment = .42, 1, .6 }, article.Possible, article.ReasonOverlap},
		"contained, as long":   {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .42, 0, 0, .85 }, article.Possible, article.ReasonOverlap},
		"a few contradictions": {func(c *Comparison) { c.J, c.Contradictions = .8, 1 }, article.Near, article.ReasonOverlap},
		"one, other names":     {func(c *Comparison) { c.J, c.Contradictions, c.SameForemost = .8, 1, false }, 0, article.ReasonNumbers},
		"many contradictions":  {func(c *Comparison) { c.Contradictions = 3 }, 0, article.ReasonNumbers},
		"sure, a correction":   {func(c *Comparison) { c.Contradictions, c.SharedContexts = 1, 3 }, article.Near, article.ReasonOverlap},
		"less sure, all else": {func(c *Comparison) {
			c.J, c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = .75, 1, 3, 5, 4
		}, article.Near, article.ReasonOverlap},
		"less sure, not all": {func(c *Comparison) {
			c.J, c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = .8, 1, 3, 6, 4
		}, article.Possible, article.ReasonValues},
		"less sure, of little": {func(c *Comparison) {
			c.J, c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = .8, 1, 3, 3, 3
		}, article.Near, article.ReasonOverlap},
		"sure, other names":    {func(c *Comparison) { c.Contradictions, c.SharedContexts, c.SameForemost = 1, 3, false }, 0, article.ReasonNumbers},
		"not in place":         {func(c *Comparison) { c.CommonValues, c.SameForemost = 7, false }, article.Near, article.ReasonOverlap},
		"not sure, all else":   {func(c *Comparison) { c.J, c.Contradictions, c.SharedContexts = .74, 1, 3 }, 0, article.ReasonNumbers},
		"sure, but of little":  {func(c *Comparison) { c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = 1, 2, 2, 2 }, 0, article.ReasonNumbers},
		"other values":         {func(c *Comparison) { c.CommonValues = 3 }, article.Possible, article.ReasonValues},
		"sure, one value":      {func(c *Comparison) { c.LeastValues, c.CommonValues = 2, 1 }, article.Near, article.ReasonOverlap},
		"not sure, one value":  {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues = .7, 2, 1 }, article.Possible, article.ReasonValues},
		"sure, the only value": {func(c *Comparison) { c.LeastValues, c.CommonValues = 1, 0 }, article.Near, article.ReasonOverlap},
		"sure, two values":     {func(c *Comparison) { c.LeastValues, c.CommonValues = 3, 1 }, article.Possible, article.ReasonValues},
		"sure, in its place":   {func(c *Comparison) { c.Contradictions, c.LeastValues, c.CommonValues = 1, 2, 1 }, article.Possible, article.ReasonValues},
		"no values":            {func(c *Comparison) { c.LeastValues, c.CommonValues = 0, 0 }, article.Near, article.ReasonOverlap},
		"short":                {func(c *Comparison) { c.Bigrams = 20 }, article.Near, article.ReasonOverlap},
		"short, lower":         {func(c *Comparison) { c.Bigrams, c.J, c.LeastValues, c.CommonValues = 20, .6, 3, 3 }, article.Possible, article.ReasonShort},
		"short, much lower":    {func(c *Comparison) { c.Bigrams, c.J, c.LeastValues, c.CommonValues = 20, .45, 3, 3 }, article.Possible, article.ReasonOverlap},
		"short, vouched":       {func(c *Comparison) { c.Bigrams, c.J, c.LeastValues, c.CommonValues = 20, .42, 4, 4 }, article.Near, article.ReasonOverlap},
		"short, by half":       {func(c *Comparison) { c.Bigrams, c.J, c.Containment, c.LeastValues, c.CommonValues = 20, .6, .84, 7, 7 }, article.Possible, article.ReasonShort},
		"short, many numbers":  {func(c *Comparison) { c.Bigrams, c.J, c.Containment, c.LeastValues, c.CommonValues = 20, .6, .6, 9, 8 }, article.Near, article.ReasonOverlap},
		"short, contradiction": {func(c *Comparison) {
			c.Bigrams, c.J, c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = 20, .7, 1, 6, 7, 7
		}, 0, article.ReasonNumbers},
		"short, one value":   {func(c *Comparison) { c.Bigrams, c.LeastValues, c.CommonValues = 20, 2, 1 }, article.Near, article.ReasonOverlap},
		"short, only value":  {func(c *Comparison) { c.Bigrams, c.LeastValues, c.CommonValues = 20, 1, 0 }, article.Possible, article.ReasonValues},
		"short, many values": {func(c *Comparison) { c.Bigrams, c.J, c.Contradictions, c.SharedContexts = 20, .8, 1, 5 }, article.Near, article.ReasonOverlap},
		"short, few values": {func(c *Comparison) {
			c.Bigrams, c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = 20, 1, 5, 7, 7
		}, 0, article.ReasonNumbers},
		"a part":                {func(c *Comparison) { c.J, c.Longer = .3, 1.25 }, article.Near, article.ReasonOverlap},
		"too small a part":      {func(c *Comparison) { c.J, c.Longer = .29, 1.25 }, 0, article.ReasonOverlap},
		"as long":               {func(c *Comparison) { c.J, c.Longer = .4, 1.24 }, article.Possible, article.ReasonOverlap},
		"longer, not a part":    {func(c *Comparison) { c.J, c.Longer, c.Containment = .4, 2, .84 }, article.Possible, article.ReasonOverlap},
		"a part, one value":     {func(c *Comparison) { c.J, c.Longer, c.LeastValues, c.CommonValues = .5, 2, 2, 1 }, article.Near, article.ReasonOverlap},
		"a part, contradicted":  {func(c *Comparison) { c.J, c.Longer, c.SharedContexts, c.Contradictions = .5, 2, 3, 1 }, 0, article.ReasonNumbers},
		"a short part":          {func(c *Comparison) { c.Bigrams, c.J, c.Longer, c.LeastValues, c.CommonValues = 20, .4, 2, 3, 3 }, article.Possible, article.ReasonOverlap},
		"opposite":              {func(c *Comparison) { c.Opposite = true }, 0, article.ReasonOpposite},
		"another beginning":     {func(c *Comparison) { c.Lead, c.LeastValues, c.CommonValues = .59, 0, 0 }, article.Possible, article.ReasonLead},
		"the same beginning":    {func(c *Comparison) { c.Lead, c.LeastValues, c.CommonValues = .6, 0, 0 }, article.Near, article.ReasonOverlap},
		"another, one of two":   {func(c *Comparison) { c.Lead, c.LeastValues, c.CommonValues = .59, 2, 1 }, article.Possible, article.ReasonLead},
		"another, two of three": {func(c *Comparison) { c.Lead, c.LeastValues, c.CommonValues = .59, 3, 2 }, article.Near, article.ReasonOverlap},
		"another, but a number": {func(c *Comparison) { c.Lead, c.LeastValues, c.CommonValues = 0, 1, 1 }, article.Near, article.ReasonOverlap},
		"above small print":     {func(c *Comparison) { c.Lead, c.Bigrams, c.LeastValues, c.CommonValues = .29, 239, 7, 7 }, article.Possible, article.ReasonLead},
		"too long for a notice": {func(c *Comparison) { c.Lead, c.Bigrams, c.LeastValues, c.CommonValues = .29, 240, 7, 7 }, article.Near, article.ReasonOverlap},
		"many numbers":          {func(c *Comparison) { c.Lead, c.Bigrams = .29, 239 }, article.Near, article.ReasonOverlap},
		"some of the beginning": {func(c *Comparison) { c.Lead, c.Bigrams, c.LeastValues, c.CommonValues = .3, 239, 7, 7 }, article.Near, article.ReasonOverlap},
		"another subject":       {func(c *Comparison) { c.OtherSubject = true }, article.Possible, article.ReasonSubject},
		"an extension may have": {func(c *Comparison) { c.OtherSubject, c.Longer = true, 1.07 }, article.Near, article.ReasonOverlap},
		"short, other values":   {func(c *Comparison) { c.Bigrams, c.CommonValues = 20, 5 }, article.Possible, article.ReasonValues},
	})
}

// Equally long articles with other main words at a large distance are two reports of one form. One of these facts alone is not enough.
func TestRenamed(t *testing.T) {
	base := Comparison{Known: true, J: .6, Containment: .75, Bigrams: 300, Longer: 1.06, OtherMain: 3, Lead: 1}
	renamed := Judge(11, base, DefaultThresholds())
	require.Equal(t, article.Possible, renamed.Kind)
	require.Equal(t, article.ReasonSubject, renamed.Reason)
	require.Equal(t, article.Near, Judge(10, base, DefaultThresholds()).Kind)
	for name, change := range map[string]func(*Comparison){
		"more words replaced": func(c *Comparison) { c.J = .59 },
		"something was added": func(c *Comparison) { c.Longer = 1.07 },
		"same main words":     func(c *Comparison) { c.OtherMain = 2 },
	} {
		c := base
		change(&c)
		require.Equal(t, article.Near, Judge(11, c, DefaultThresholds()).Kind, name)
	}
}

// Beyond 16 bits one article must contain the other and be longer.
func TestExtended(t *testing.T) {
	base := Comparison{Known: true, J: .8, Containment: .85, Bigrams: 300, Longer: 1.07, Lead: 1}
	require.Equal(t, article.Near, Judge(17, base, DefaultThresholds()).Kind)
	for name, change := range map[string]func(*Comparison){
		"as long":       func(c *Comparison) { c.Longer = 1.06 },
		"not contained": func(c *Comparison) { c.Containment = .84 },
	} {
		c := base
		change(&c)
		require.Equal(t, article.Near, Judge(16, c, DefaultThresholds()).Kind, name)
		require.Equal(t, article.Judgement{Reason: article.ReasonDistance}, Judge(17, c, DefaultThresholds()), name)
	}
}

func TestJudgeReworded(t *testing.T) {
	reworded := Comparison{
		Known: true, J: .15, Containment: .3, Bigrams: 130, Longer: 1.1, SharedContexts: 2, LeastValues: 4, CommonValues: 4, SameValues: true,
		OtherMain: 3, Lead: 1,
	}
	checkJudge(t, reworded, map[string]judged{
		"reworded":           {func(*Comparison) {}, article.Near, article.ReasonOverlap},
		"too little is left": {func(c *Comparison) { c.J = .14 }, 0, article.ReasonOverlap},
		"one more number":    {func(c *Comparison) { c.SameValues = false }, 0, article.ReasonOverlap},
		"three numbers":      {func(c *Comparison) { c.LeastValues, c.CommonValues = 3, 3 }, 0, article.ReasonOverlap},
		"in another place":   {func(c *Comparison) { c.Contradictions = 1 }, article.Near, article.ReasonOverlap},
		"in the same words":  {func(c *Comparison) { c.J, c.Contradictions = .6, 1 }, 0, article.ReasonNumbers},
		"other main words":   {func(c *Comparison) { c.OtherMain = 4 }, 0, article.ReasonOverlap},
		"longer":             {func(c *Comparison) { c.Longer = 1.25 }, 0, article.ReasonOverlap},
		"short":              {func(c *Comparison) { c.Bigrams = 79 }, 0, article.ReasonOverlap},
		"another subject":    {func(c *Comparison) { c.OtherSubject = true }, article.Possible, article.ReasonSubject},
		"opposite":           {func(c *Comparison) { c.Opposite = true }, 0, article.ReasonOpposite},
	})
	require.Equal(t, article.Near, Judge(WholeDistance+1, reworded, DefaultThresholds()).Kind)
	reworded.OtherMain = 4
	require.Equal(t, article.ReasonDistance, Judge(WholeDistance+1, reworded, DefaultThresholds()).Reason)
}

// Two numbers vouch for a reworded article if the foremost main words are the same and more of the words.
func TestJudgeRewordedWithFewNumbers(t *testing.T) {
	reworded := Comparison{
		Known: true, J: .3, Containment: .5, Bigrams: 130, Longer: 1.1, SharedContexts: 2, LeastValues: 2, CommonValues: 2, SameValues: true,
		SameForemost: true, OtherMain: 3, Lead: 1,
	}
	checkJudge(t, reworded, map[string]judged{
		"reworded":           {func(*Comparison) {}, article.Near, article.ReasonOverlap},
		"too little is left": {func(c *Comparison) { c.J = .29 }, 0, article.ReasonOverlap},
		"one number":         {func(c *Comparison) { c.LeastValues, c.CommonValues = 1, 1 }, article.Possible, article.ReasonOverlap},
		"one more number":    {func(c *Comparison) { c.SameValues = false }, article.Possible, article.ReasonOverlap},
		"in another place":   {func(c *Comparison) { c.Contradictions = 1 }, 0, article.ReasonNumbers},
		"other main words":   {func(c *Comparison) { c.SameForemost = false }, article.Possible, article.ReasonOverlap},
		"longer":             {func(c *Comparison) { c.Longer = 1.25 }, article.Possible, article.ReasonOverlap},
		"short":              {func(c *Comparison) { c.Bigrams = 79 }, article.Possible, article.ReasonOverlap},
	})
	require.Equal(t, article.ReasonDistance, Judge(WholeDistance+1, reworded, DefaultThresholds()).Reason)
}

// The beginning of an article is a copy although the estimates of similarity and containment are low, as they are of a third of an article.
func TestJudgeBeginning(t *testing.T) {
	page := Comparison{
		Known: true, J: .2, Contains: .7, Containment: .7, Contained: .23, Bigrams: 93, Longer: 3.1, SharedContexts: 2, LeastValues: 5, CommonValues: 4,
		Lead: 1, SameLead: true,
	}
	checkJudge(t, page, map[string]judged{
		"page 1":              {func(*Comparison) {}, article.Near, article.ReasonOverlap},
		"another beginning":   {func(c *Comparison) { c.SameLead = false }, 0, article.ReasonOverlap},
		"not contained":       {func(c *Comparison) { c.Containment = .6 }, 0, article.ReasonOverlap},
		"too little is left":  {func(c *Comparison) { c.J = .14 }, 0, article.ReasonOverlap},
		"of a round-up":       {func(c *Comparison) { c.Longer = 3.5 }, 0, article.ReasonOverlap},
		"as long":             {func(c *Comparison) { c.Longer = 1.2 }, 0, article.ReasonOverlap},
		"two numbers missing": {func(c *Comparison) { c.CommonValues = 3 }, 0, article.ReasonOverlap},
		"another number":      {func(c *Comparison) { c.Contradictions = 1 }, 0, article.ReasonOverlap},
		"short":               {func(c *Comparison) { c.Bigrams = 79 }, 0, article.ReasonOverlap},
	})
	require.Equal(t, article.Extends, Judge(WholeDistance+1, page, DefaultThresholds()).Relation)
	page.Contains, page.Contained = page.Contained, page.Contains
	require.Equal(t, article.Contained, Judge(WholeDistance+1, page, DefaultThresholds()).Relation)
	page.SameLead = false
	require.Equal(t, article.ReasonDistance, Judge(WholeDistance+1, page, DefaultThresholds()).Reason)
}

func TestThresholds(t *testing.T) {
	require.NoError(t, DefaultThresholds().Validate())
	for want, change := range map[string]func(*Thresholds){
		"near is 1.5":          func(t *Thresholds) { t.Near = 1.5 },
		"vouched is 2":         func(t *Thresholds) { t.Vouched = 2 },
		"short_near is 1.1":    func(t *Thresholds) { t.ShortNear = 1.1 },
		"contradictions is -1": func(t *Thresholds) { t.Contradictions = -1 },
		"values is NaN":        func(t *Thresholds) { t.Values = math.NaN() },
		"possible is 0.6":      func(t *Thresholds) { t.Possible = .6 },
	} {
		thresholds := DefaultThresholds()
		change(&thresholds)
		require.ErrorContains(t, thresholds.Validate(), want)
	}
}
