package tables

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/app/command/commandtest"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

const (
	longName  = "a-name-of-a-kind-or-publisher-that-somebody-has-made-much-longer"
	longTitle = "高校团队研制出可在土壤中降解的薄膜电池 and a title that goes on and on, as titles do"
)

func TestPairsFitATerminal(t *testing.T) {
	rate := &figures.Interval{Low: .9123, High: .9456, Families: 1234567, Few: true}
	wrong := []figures.WrongPair{{Reason: "opposite", Distance: 64, Possible: true},
		{Reason: "opposite", Label: figures.HardNegative}}
	for i := range wrong {
		wrong[i].Kind, wrong[i].A, wrong[i].B = longName, longName, longName
	}
	var b strings.Builder
	require.NoError(t, Pairs(&b, figures.PairsResult{
		Docs: 1234567, Pairs: 1234567, Copies: 123456, LookAlikes: 123456, Debatable: 12345, WithoutFamily: 1234567,
		Intervals: figures.Intervals{},
		Warnings: []string{"the recall rests on few families of pairs, so that it may be chance: 3 of them hold " +
			"most of the pairs"},
		Kinds: map[string]figures.KindResult{longName: {Label: figures.Copy, N: 123456, Flagged: 123456,
			Possible: 123456, Interval: rate}},
		Distance: []figures.AtDistance{{K: 32}},
		Wrong:    wrong,
	}))
	commandtest.FitsTerminal(t, b.String())
	require.Contains(t, b.String(), "false alarm")
}

func TestStreamFitsATerminal(t *testing.T) {
	counts := map[string]figures.StreamCounts{longName: {Copies: 123456, Caught: 123456, Originals: 123456,
		Dropped: 12345, WrongOriginal: 12345, Possible: 12345}}
	repeats := []figures.Repeat{{Reason: "opposite", Possible: true, Distance: 64, Kind: longName, ID: longName,
		Title: longTitle, OriginalID: longName, OriginalTitle: longTitle}}
	var b strings.Builder
	require.NoError(t, Stream(&b, figures.StreamResult{
		Articles: 1234567, Skipped: 12345, Dead: 12345, OriginalMissing: 12345, Languages: counts, Kinds: counts,
		Publishers: counts,
		Dropped:    repeats, Wrong: repeats, Missed: repeats, Delay: figures.Delay{Median: 1e6, P90: 1e7},
	}))
	commandtest.FitsTerminal(t, b.String())
	require.Contains(t, b.String(), "Copies missed")
}
