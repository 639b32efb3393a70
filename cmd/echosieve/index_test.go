package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/told"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/test/commandtest"
	"echosieve/test/kafkatest"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
	"echosieve/test/redisserver"
)

const indexedText = "The harbour authority said on Monday that the ferry between both islands will run again from " +
	"next week, after the repair of its second engine took eleven days longer than the shipyard had promised in spring."

// filledIndex is an index of the default configuration with an article, a copy of it, and an article that is
// different. It returns the flags that the commands need.
func filledIndex(t *testing.T) (flags []string, x *redisindex.Index, claimed []article.Article) {
	t.Helper()
	addr := redisserver.Start(t).Addr
	cfg := config.Default()
	cfg.Redis.Addrs = []string{addr}
	recipe, err := cfg.LoadRecipe()
	require.NoError(t, err)
	x = indexrig.New(t, redisrig.Connect(t, cfg.Redis.Options), cfg.IndexConfig(recipe.ID()))
	for i, text := range []string{indexedText, indexedText + " Tickets cost the same.",
		"Quite another report about beetles in the forests of the north, where foresters count them every second " +
			"winter by hand."} {
		a, _ := recipe.Fingerprint(text, article.Origin{})
		a.Coordinates, a.ID, a.Time = article.Coordinates{Topic: "articles", Partition: 1, Offset: int64(i)},
			string(rune('a'+i)), time.Now()
		claimed = append(claimed, a)
	}
	verdicts, err := x.Claim(t.Context(), claimed)
	require.NoError(t, err)
	require.Equal(t, article.Near, verdicts[1].Kind)
	return []string{"--redis.addrs", addr}, x, claimed
}

// publishOutput publishes a unique article as the service does, and returns the coordinates of the output.
func publishOutput(t *testing.T, broker *kfake.Cluster, a article.Article) string {
	t.Helper()
	r := &kgo.Record{Topic: config.Default().Kafka.Topics.Unique}
	for key, value := range map[string]string{pipeline.HeaderVerdict: "unique", pipeline.HeaderInput: a.String(),
		pipeline.HeaderRoot: a.String(), pipeline.HeaderRootID: a.ID} {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	kafkatest.Produce(t, kafkatest.Client(t, kafkatest.Config(broker.ListenAddrs()...)), r)
	return fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset)
}

func runIndex(t *testing.T, code int, flags []string, args ...string) (errOut string) {
	t.Helper()
	_, errOut = echosieve(t, code, "", append(append([]string{"index"}, args...), flags...)...)
	return errOut
}

type stored struct {
	Record string
	Judged told.Judged
	Hidden bool
}

func lookedUp(t *testing.T, flags []string, arg string) []stored {
	t.Helper()
	return commandtest.Answer[[]stored](t, newRootCommand(), append([]string{"index", "lookup", arg}, flags...)...)
}

func TestIndexCommands(t *testing.T) {
	flags, _, claimed := filledIndex(t)
	broker := testBroker(t)
	flags = append(flags, "--kafka.brokers", broker.ListenAddrs()[0])
	output := publishOutput(t, broker, claimed[0])
	stats := commandtest.Answer[struct {
		Articles  int
		ByVerdict map[string]int `json:"by_verdict"`
		Bytes     map[string]int64
	}](t, newRootCommand(), append([]string{"index", "stats"}, flags...)...)
	require.Equal(t, 3, stats.Articles)
	require.Equal(t, map[string]int{"unique": 2, "near": 1}, stats.ByVerdict)
	require.Positive(t, stats.Bytes["entries"])
	require.Positive(t, stats.Bytes["block lists"])

	text := "@" + commandtest.File(t, "text", indexedText)
	for _, arg := range []string{"articles/1/0", output, "a", claimed[0].Fingerprint.String(), text} {
		found := lookedUp(t, flags, arg)
		require.NotEmpty(t, found, arg)
		require.Equal(t, "articles/1/0", found[0].Record, arg)
	}
	require.Equal(t, "exact", lookedUp(t, flags, text)[0].Judged.Kind)
	for arg, want := range map[string]string{
		"nope": `no article with the id "nope" is in the index (most exact repeats are not stored: echosieve explain ` +
			`shows them); if the argument is something else, say what with --as`,
		"articles/9/9": `no article with the coordinates "articles/9/9" is in the index (most exact repeats are not ` +
			`stored: echosieve explain shows them); if`,
		"Quite unlike all of these": "the look-ups for this text find no article; if",
	} {
		require.Contains(t, runIndex(t, command.ExitNo, flags, "lookup", arg), want)
	}
	errOut := runIndex(t, command.ExitNo, flags, "lookup", "--as", "id", "articles/9/9")
	require.Contains(t, errOut, `the id "articles/9/9"`)
	require.NotContains(t, errOut, "--as")

	runIndex(t, command.ExitNo, flags, "forget", "articles/9/9")
	runIndex(t, command.ExitNo, flags, "forget", "articles-unique/0/9")
	runIndex(t, command.ExitOK, flags, "forget", output)
	require.True(t, lookedUp(t, flags, "articles/1/1")[0].Hidden, "the copy is forgotten with its root")
	require.False(t, lookedUp(t, flags, "articles/1/2")[0].Hidden)
}

// An id means all articles with that id, and all articles whose root has it.
func TestForgetByID(t *testing.T) {
	flags, x, claimed := filledIndex(t)
	version := claimed[2]
	version.ID, version.Offset, version.Digest[0] = "a", 9, 1
	version.Time = version.Time.Add(-1000 * time.Hour) // out of reach of the others
	claimed = append(claimed, version)
	indexrig.ClaimOne(t, x, version)

	require.Contains(t, runIndex(t, command.ExitNo, flags, "forget", "articles/1"),
		`no article with the id "articles/1" is in the index`)
	runIndex(t, command.ExitFailed, flags, "forget", "--as", "coordinates", "a")
	require.Contains(t, runIndex(t, command.ExitFailed, flags, "forget", "--as", "text", "a"),
		"--as wants id or coordinates")

	type forgotten struct{ Articles, Copies int }
	require.Equal(t, forgotten{2, 1},
		commandtest.Answer[forgotten](t, newRootCommand(), append([]string{"index", "forget", "a"}, flags...)...))
	for i, hidden := range []bool{true, true, false, true} {
		require.Equal(t, hidden, lookedUp(t, flags, claimed[i].String())[0].Hidden, i)
	}
}
