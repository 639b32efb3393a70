package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/command"
	"echosieve/pipeline/record"
	"echosieve/stories"
	"echosieve/test/inprocess"
	"echosieve/test/kafkatest"
)

// A label is that of the story, also where it names a dropped copy.
func TestLabel(t *testing.T) {
	w := inprocess.Start(t)
	const text = "The first battery-powered ferry on the Ellery Strait carried 140 passengers to Gull Island on Monday."
	all := w.Decide(t, time.Now().Add(-time.Hour), 2, inprocess.Value("a", "", text), inprocess.Value("b", "", text))
	w.CreateTopics(t, "articles-labels")
	for _, name := range []string{all[1], "b", all[0]} {
		out, _ := echosieve(t, command.ExitOK, "", w.Args("label", "--label", "retracted", "--text", "taken back", name)...)
		require.Contains(t, out, "the story of "+all[0]+" is labelled retracted")
	}
	records := kafkatest.ConsumeUntil(t, w.Config.Kafka, []string{"articles-labels"},
		func(all []*kgo.Record) bool { return len(all) == 3 })
	for _, r := range records {
		root, l, err := stories.ParseLabel(&record.Record{Value: r.Value})
		require.NoError(t, err)
		require.Equal(t, []string{all[0], "retracted", "taken back"}, []string{root.String(), l.Label, l.Text})
	}
	_, errOut := echosieve(t, command.ExitNo, "", w.Args("label", "--label", "false", "nobody")...)
	require.Contains(t, errOut, "no article with the id")
	_, errOut = echosieve(t, command.ExitFailed, "", w.Args("label", "--label", "wrong", "b")...)
	require.Contains(t, errOut, "--label is one of retracted, false, corrected, embargoed")
	_, errOut = echosieve(t, command.ExitFailed, "", w.Args("label", "--label", "false", "b", "--topic", "no-such")...)
	require.Contains(t, errOut, "topics that do not exist, or that this user has no right on: no-such: create them")
}
