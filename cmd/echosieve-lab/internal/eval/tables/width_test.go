package tables

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/internal/app/command/commandtest"
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

func TestThresholdFitsATerminal(t *testing.T) {
	side := figures.Side{ID: longName, Title: longTitle,
		Text: []figures.Piece{{Text: longTitle}, {Text: longTitle, Differs: true}, {Text: longTitle}}}
	var b strings.Builder
	require.NoError(t, Threshold(&b, figures.ThresholdResult{
		LimitsResult: figures.LimitsResult{
			Docs: 1234567, Exact: 123456, LittleText: 12345, Scale: "detection.max_distance",
			Limits: []figures.AtLimit{{Limit: "0.50", Pairs: 1234567, Flagged: 1234567, Share: 1}},
		},
		Current: "0.50",
		Samples: []figures.SamplePair{{Earlier: side, Later: side, Limit: "0.50"}},
	}))
	commandtest.FitsTerminal(t, b.String())
}

// A mark never crosses a line, and no line is wider than its column.
func TestWrapped(t *testing.T) {
	pieces := []figures.Piece{{Text: "abcdefgh"}, {Text: "中文中文中文", Differs: true}, {Text: "xyz"}}
	got := wrapped(10, [2]string{"[", "]"}, pieces...)
	require.Equal(t, "abcdefgh\n[中文中文]\n[中文]xyz", got)
	require.Equal(t, "abcdefghij\nklm", wrapped(10, [2]string{"[", "]"}, figures.Piece{Text: "abcdefghijklm"}))
}
