package signature

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// judged is a change of a comparison and what is made of the changed one.
type judged struct {
	change func(*Comparison)
	want   Verdict
	reason Reason
}

func checkJudge(t *testing.T, base Comparison, cases map[string]judged) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			comparison := base
			c.change(&comparison)
			got, reason := Judge(comparison, DefaultThresholds())
			require.Equal(t, c.want, got)
			require.Equal(t, c.reason, reason)
		})
	}
}

func TestJudge(t *testing.T) {
	long := Comparison{
		Known: true, J: .9, Containment: 1, Bigrams: 300, Longer: 1, SharedContexts: 8, LeastValues: 8, CommonValues: 8, Lead: 1,
	}
	checkJudge(t, long, map[string]judged{
		"copy":                 {func(*Comparison) {}, Near, ReasonOverlap},
		"unknown":              {func(c *Comparison) { *c = Comparison{} }, Different, ReasonUnknown},
		"at the threshold":     {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .5, 3, 3, .84 }, Near, ReasonOverlap},
		"below":                {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .49, 3, 3, .84 }, Possible, ReasonOverlap},
		"far below":            {func(c *Comparison) { c.J = .29 }, Different, ReasonOverlap},
		"numbers vouch":        {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .42, 4, 4, .6 }, Near, ReasonOverlap},
		"but not below":        {func(c *Comparison) { c.J, c.Containment = .41, 1 }, Possible, ReasonOverlap},
		"all but one":          {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .42, 7, 6, .6 }, Possible, ReasonOverlap},
		"all but one of many":  {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .42, 9, 8, .6 }, Near, ReasonOverlap},
		"vouch, contradicted":  {func(c *Comparison) { c.J, c.Contradictions, c.Containment = .42, 1, .6 }, Possible, ReasonOverlap},
		"contained":            {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues, c.Containment = .42, 0, 0, .85 }, Near, ReasonOverlap},
		"a few contradictions": {func(c *Comparison) { c.J, c.Contradictions = .8, 1 }, Near, ReasonOverlap},
		"many contradictions":  {func(c *Comparison) { c.Contradictions = 3 }, Different, ReasonNumbers},
		"sure, a correction":   {func(c *Comparison) { c.Contradictions, c.SharedContexts = 1, 3 }, Near, ReasonOverlap},
		"less sure, all else": {func(c *Comparison) {
			c.J, c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = .75, 1, 3, 5, 4
		}, Near, ReasonOverlap},
		"less sure, not all": {func(c *Comparison) {
			c.J, c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = .8, 1, 3, 6, 4
		}, Possible, ReasonValues},
		"less sure, of little": {func(c *Comparison) {
			c.J, c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = .8, 1, 3, 3, 3
		}, Near, ReasonOverlap},
		"not sure, all else":   {func(c *Comparison) { c.J, c.Contradictions, c.SharedContexts = .74, 1, 3 }, Different, ReasonNumbers},
		"sure, but of little":  {func(c *Comparison) { c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = 1, 2, 2, 2 }, Different, ReasonNumbers},
		"other values":         {func(c *Comparison) { c.CommonValues = 3 }, Possible, ReasonValues},
		"sure, one value":      {func(c *Comparison) { c.LeastValues, c.CommonValues = 2, 1 }, Near, ReasonOverlap},
		"not sure, one value":  {func(c *Comparison) { c.J, c.LeastValues, c.CommonValues = .7, 2, 1 }, Possible, ReasonValues},
		"sure, the only value": {func(c *Comparison) { c.LeastValues, c.CommonValues = 1, 0 }, Near, ReasonOverlap},
		"sure, two values":     {func(c *Comparison) { c.LeastValues, c.CommonValues = 3, 1 }, Possible, ReasonValues},
		"sure, in its place":   {func(c *Comparison) { c.Contradictions, c.LeastValues, c.CommonValues = 1, 2, 1 }, Possible, ReasonValues},
		"no values":            {func(c *Comparison) { c.LeastValues, c.CommonValues = 0, 0 }, Near, ReasonOverlap},
		"short":                {func(c *Comparison) { c.Bigrams = 20 }, Near, ReasonOverlap},
		"short, lower":         {func(c *Comparison) { c.Bigrams, c.J, c.LeastValues, c.CommonValues = 20, .6, 3, 3 }, Possible, ReasonShort},
		"short, much lower":    {func(c *Comparison) { c.Bigrams, c.J, c.LeastValues, c.CommonValues = 20, .45, 3, 3 }, Possible, ReasonOverlap},
		"short, vouched":       {func(c *Comparison) { c.Bigrams, c.J, c.LeastValues, c.CommonValues = 20, .42, 4, 4 }, Near, ReasonOverlap},
		"short, by half":       {func(c *Comparison) { c.Bigrams, c.J, c.Containment, c.LeastValues, c.CommonValues = 20, .6, .84, 7, 7 }, Possible, ReasonShort},
		"short, many numbers":  {func(c *Comparison) { c.Bigrams, c.J, c.Containment, c.LeastValues, c.CommonValues = 20, .6, .6, 9, 8 }, Near, ReasonOverlap},
		"short, contradiction": {func(c *Comparison) {
			c.Bigrams, c.J, c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = 20, .7, 1, 6, 7, 7
		}, Different, ReasonNumbers},
		"short, one value":   {func(c *Comparison) { c.Bigrams, c.LeastValues, c.CommonValues = 20, 2, 1 }, Near, ReasonOverlap},
		"short, only value":  {func(c *Comparison) { c.Bigrams, c.LeastValues, c.CommonValues = 20, 1, 0 }, Possible, ReasonValues},
		"short, many values": {func(c *Comparison) { c.Bigrams, c.J, c.Contradictions, c.SharedContexts = 20, .8, 1, 5 }, Near, ReasonOverlap},
		"short, few values": {func(c *Comparison) {
			c.Bigrams, c.Contradictions, c.SharedContexts, c.LeastValues, c.CommonValues = 20, 1, 5, 7, 7
		}, Different, ReasonNumbers},
		"a part":                {func(c *Comparison) { c.J, c.Longer = .3, 1.25 }, Near, ReasonOverlap},
		"too small a part":      {func(c *Comparison) { c.J, c.Longer = .29, 1.25 }, Different, ReasonOverlap},
		"as long":               {func(c *Comparison) { c.J, c.Longer = .4, 1.24 }, Possible, ReasonOverlap},
		"longer, not a part":    {func(c *Comparison) { c.J, c.Longer, c.Containment = .4, 2, .84 }, Possible, ReasonOverlap},
		"a part, one value":     {func(c *Comparison) { c.J, c.Longer, c.LeastValues, c.CommonValues = .5, 2, 2, 1 }, Near, ReasonOverlap},
		"a part, contradicted":  {func(c *Comparison) { c.J, c.Longer, c.SharedContexts, c.Contradictions = .5, 2, 3, 1 }, Different, ReasonNumbers},
		"a short part":          {func(c *Comparison) { c.Bigrams, c.J, c.Longer, c.LeastValues, c.CommonValues = 20, .4, 2, 3, 3 }, Possible, ReasonOverlap},
		"opposite":              {func(c *Comparison) { c.Opposite = true }, Different, ReasonOpposite},
		"another beginning":     {func(c *Comparison) { c.Lead, c.LeastValues, c.CommonValues = .59, 0, 0 }, Possible, ReasonLead},
		"the same beginning":    {func(c *Comparison) { c.Lead, c.LeastValues, c.CommonValues = .6, 0, 0 }, Near, ReasonOverlap},
		"another, but a number": {func(c *Comparison) { c.Lead, c.LeastValues, c.CommonValues = 0, 1, 1 }, Near, ReasonOverlap},
		"short, other values":   {func(c *Comparison) { c.Bigrams, c.CommonValues = 20, 5 }, Possible, ReasonValues},
	})
}

func TestThresholds(t *testing.T) {
	require.NoError(t, DefaultThresholds().Validate())
	for want, change := range map[string]func(*Thresholds){
		"near is 1.5":          func(t *Thresholds) { t.Near = 1.5 },
		"vouched is 2":         func(t *Thresholds) { t.Vouched = 2 },
		"flash_near is 1.1":    func(t *Thresholds) { t.FlashNear = 1.1 },
		"contradictions is -1": func(t *Thresholds) { t.Contradictions = -1 },
		"values is NaN":        func(t *Thresholds) { t.Values = math.NaN() },
		"possible is 0.6":      func(t *Thresholds) { t.Possible = .6 },
		"short_pairs is -1":    func(t *Thresholds) { t.ShortPairs = -1 },
	} {
		thresholds := DefaultThresholds()
		change(&thresholds)
		require.ErrorContains(t, thresholds.Validate(), want)
	}
}
