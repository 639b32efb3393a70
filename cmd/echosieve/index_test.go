package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/inquiry"
	"echosieve/pipeline"
	"echosieve/test/commandtest"
	"echosieve/test/inprocess"
	"echosieve/test/kafkatest"
	"echosieve/test/redisserver"
)

const indexedText = "The harbour authority said on Monday that the ferry between both islands will run again from " +
	"next week, after the repair of its second engine took eleven days longer than the shipyard had promised in spring."

// onRedis starts a service on a real Redis: miniredis lacks what some commands need.
func onRedis(t *testing.T, edits ...func(*config.Config)) *inprocess.World {
	t.Helper()
	return inprocess.Start(t, append(edits, func(cfg *config.Config) {
		cfg.Redis.Addrs = []string{redisserver.Start(t).Addr}
	})...)
}

// filledIndex has an article, a copy of it, and an article that is different. output is that of the first one.
func filledIndex(t *testing.T) (w *inprocess.World, output string) {
	t.Helper()
	w = onRedis(t)
	for i, text := range []string{indexedText, indexedText + " Tickets cost the same.",
		"Quite another report about beetles in the forests of the north, where foresters count them every second " +
			"winter by hand."} {
		w.Publish(t, 1, time.Now(), inprocess.Value(string(rune('a'+i)), "", text))
	}
	for _, o := range w.Verdicts(t, 3) {
		if kafkatest.Header(o, pipeline.HeaderInput) == "articles/1/0" {
			output = fmt.Sprintf("%s/%d/%d", o.Topic, o.Partition, o.Offset)
		}
	}
	return w, output
}

func runIndex(t *testing.T, code int, w *inprocess.World, args ...string) (errOut string) {
	t.Helper()
	_, errOut = echosieve(t, code, "", append([]string{"index"}, w.Args(args...)...)...)
	return errOut
}

type stored struct {
	Record, Fingerprint string

	Judged inquiry.Judged
	Hidden bool
}

func lookedUp(t *testing.T, w *inprocess.World, arg string) []stored {
	t.Helper()
	return commandtest.Answer[[]stored](t, newRootCommand(), w.Args("index", "lookup", arg)...)
}

func TestIndexCommands(t *testing.T) {
	w, output := filledIndex(t)
	stats := commandtest.Answer[struct {
		Articles  int
		ByVerdict map[string]int `json:"by_verdict"`
		Bytes     map[string]int64
	}](t, newRootCommand(), w.Args("index", "stats")...)
	require.Equal(t, 3, stats.Articles)
	require.Equal(t, map[string]int{"unique": 2, "near": 1}, stats.ByVerdict)
	require.Positive(t, stats.Bytes["entries"])
	require.Positive(t, stats.Bytes["block lists"])

	text := "@" + commandtest.File(t, "text", indexedText)
	for _, arg := range []string{"articles/1/0", output, "a", lookedUp(t, w, "a")[0].Fingerprint, text} {
		found := lookedUp(t, w, arg)
		require.NotEmpty(t, found, arg)
		require.Equal(t, "articles/1/0", found[0].Record, arg)
	}
	require.Equal(t, "exact", lookedUp(t, w, text)[0].Judged.Kind)
	for arg, want := range map[string]string{
		"nope": `no article with the id "nope" is in the index (most exact repeats are not stored: echosieve explain ` +
			`shows them); if the argument is something else, say what with --as`,
		"articles/9/9": `no article with the coordinates "articles/9/9" is in the index (most exact repeats are not ` +
			`stored: echosieve explain shows them); if`,
		"Quite unlike all of these": "the look-ups for this text find no article; if",
	} {
		require.Contains(t, runIndex(t, command.ExitNo, w, "lookup", arg), want)
	}
	errOut := runIndex(t, command.ExitNo, w, "lookup", "--as", "id", "articles/9/9")
	require.Contains(t, errOut, `the id "articles/9/9"`)
	require.NotContains(t, errOut, "--as")

	runIndex(t, command.ExitNo, w, "forget", "articles/9/9")
	runIndex(t, command.ExitNo, w, "forget", "articles-unique/0/9")
	runIndex(t, command.ExitOK, w, "forget", output)
	require.True(t, lookedUp(t, w, "articles/1/1")[0].Hidden, "the copy is forgotten with its root")
	require.False(t, lookedUp(t, w, "articles/1/2")[0].Hidden)
}

// An id means all articles with that id, and all articles whose root has it.
func TestForgetByID(t *testing.T) {
	w, _ := filledIndex(t)
	long := time.Now().Add(-1000 * time.Hour) // out of reach of the others
	w.Publish(t, 1, long, inprocess.Value("a", "", "A version about the same beetles, which somebody counted long ago."))
	w.Verdicts(t, 4)

	require.Contains(t, runIndex(t, command.ExitNo, w, "forget", "articles/1"),
		`no article with the id "articles/1" is in the index`)
	runIndex(t, command.ExitFailed, w, "forget", "--as", "coordinates", "a")
	require.Contains(t, runIndex(t, command.ExitFailed, w, "forget", "--as", "text", "a"),
		"--as wants id or coordinates")

	type counts struct{ Articles, Copies int }
	require.Equal(t, counts{2, 1}, commandtest.Answer[counts](t, newRootCommand(), w.Args("index", "forget", "a")...))
	for i, hidden := range []bool{true, true, false, true} {
		require.Equal(t, hidden, lookedUp(t, w, fmt.Sprintf("articles/1/%d", i))[0].Hidden, i)
	}
}
