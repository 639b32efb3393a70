package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
	"echosieve/internal/app/config"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/connection"
	"echosieve/test/kafkatest"
	"echosieve/test/redisserver"
)

const indexedText = "The harbour authority said on Monday that the ferry between both islands will run again from " +
	"next week, after the " +
	"repair of its second engine took eleven days longer than the shipyard had promised in spring."

// filledIndex is an index of the default configuration with an article, a copy of it, and an article that is
// different. It returns the flags that the commands need.
func filledIndex(t *testing.T) (flags []string, x *redisindex.Index, claimed []article.Article) {
	t.Helper()
	addr := redisserver.Start(t).Addr
	cfg := config.Default()
	cfg.Redis.Addrs = []string{addr}
	recipe, err := cfg.LoadRecipe()
	require.NoError(t, err)
	client, err := connection.Connect(cfg.Redis.Options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	x, err = redisindex.New(client, cfg.IndexConfig(recipe.ID()), nil, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
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
	for key, value := range map[string]string{
		pipeline.HeaderVerdict: "unique", pipeline.HeaderInput: a.String(), pipeline.HeaderRoot: a.String(),
		pipeline.HeaderRootID: a.ID, pipeline.HeaderRecipe: "news",
	} {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	kafkatest.Produce(t, kafkatest.Client(t, kafkatest.Config(broker.ListenAddrs()...)), r)
	return fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset)
}

func runIndex(t *testing.T, wantCode int, result any, flags []string, args ...string) {
	t.Helper()
	code, out, errOut := echosieve(t, "", append(append([]string{"index"}, args...), flags...)...)
	require.Equal(t, wantCode, code, "%s%s", out, errOut)
	if result != nil {
		require.NoError(t, json.Unmarshal([]byte(out), result), out)
	}
}

func TestIndexCommands(t *testing.T) {
	flags, x, claimed := filledIndex(t)
	broker := testBroker(t)
	flags = append(flags, "--kafka.brokers", broker.ListenAddrs()[0])
	output := publishOutput(t, broker, claimed[0])
	var stats struct {
		Articles  int
		ByVerdict map[string]int `json:"by_verdict"`
		Bytes     map[string]int64
	}
	runIndex(t, command.ExitOK, &stats, flags, "stats", "--json")
	require.Equal(t, 3, stats.Articles)
	require.Equal(t, map[string]int{"unique": 2, "near": 1}, stats.ByVerdict)
	require.Positive(t, stats.Bytes["entries"])
	require.Positive(t, stats.Bytes["block lists"])

	var found []struct{ Coordinates, Verdict, Root, Judged, State string }
	for _, arg := range []string{"articles/1/0", output, "a", claimed[0].Fingerprint.String()} {
		found = nil
		runIndex(t, command.ExitOK, &found, flags, "lookup", "--json", arg)
		require.NotEmpty(t, found, arg)
		require.Equal(t, "articles/1/0", found[0].Coordinates, arg)
	}
	found = nil
	runIndex(t, command.ExitOK, &found, flags, "lookup", "--json", "@"+commandtest.File(t, "text", indexedText))
	require.Equal(t, "articles/1/0", found[0].Coordinates)
	require.Equal(t, "exact (digest)", found[0].Judged)
	for arg, want := range map[string]string{
		"nope":                      `no article with the id "nope" is in the index (most exact repeats are not stored: echosieve explain shows them); if the argument is something else, say what with --as`,
		"articles/9/9":              `no article with the coordinates "articles/9/9" is in the index (most exact repeats are not stored: echosieve explain shows them); if`,
		"Quite unlike all of these": "the look-ups for this text find no article; if",
	} {
		code, _, errOut := echosieve(t, "", append([]string{"index", "lookup", arg}, flags...)...)
		require.Equal(t, command.ExitNo, code)
		require.Contains(t, errOut, want)
	}
	code, _, errOut := echosieve(t, "", append([]string{"index", "lookup", "--as", "id", "articles/9/9"}, flags...)...)
	require.Equal(t, command.ExitNo, code)
	require.Contains(t, errOut, `the id "articles/9/9"`)
	require.NotContains(t, errOut, "--as")

	runIndex(t, command.ExitNo, nil, flags, "forget", "articles/9/9")
	runIndex(t, command.ExitNo, nil, flags, "forget", "articles-unique/0/9")
	before, err := x.Claim(t.Context(), claimed)
	require.NoError(t, err)
	runIndex(t, command.ExitOK, nil, flags, "forget", output)
	found = nil
	runIndex(t, command.ExitOK, &found, flags, "lookup", "--json", "articles/1/1")
	require.Equal(t, "hidden", found[0].State, "the copy is forgotten with its root")
	found = nil
	runIndex(t, command.ExitOK, &found, flags, "lookup", "--json", "articles/1/2")
	require.Empty(t, found[0].State)
	after, err := x.Claim(t.Context(), claimed)
	require.NoError(t, err)
	require.Equal(t, before, after, "replays get the old verdicts")
	repeat := claimed[0]
	repeat.Offset = 7
	verdicts, err := x.Claim(t.Context(), []article.Article{repeat})
	require.NoError(t, err)
	require.Equal(t, article.Unique, verdicts[0].Kind, "the text counts as new")
}

// An id means all articles with that id, and all articles whose root has it.
func TestForgetByID(t *testing.T) {
	flags, x, claimed := filledIndex(t)
	version := claimed[2]
	version.ID, version.Offset, version.Digest[0] = "a", 9, 1
	version.Time = version.Time.Add(-1000 * time.Hour) // out of reach of the others
	claimed = append(claimed, version)
	_, err := x.Claim(t.Context(), claimed[3:])
	require.NoError(t, err)

	code, _, errOut := echosieve(t, "", append([]string{"index", "forget", "articles/1"}, flags...)...)
	require.Equal(t, command.ExitNo, code)
	require.Contains(t, errOut, `no article with the id "articles/1" is in the index`)
	code, _, errOut = echosieve(t, "", append([]string{"index", "forget", "--as", "coordinates", "a"}, flags...)...)
	require.Equal(t, command.ExitFailed, code, errOut)
	code, _, errOut = echosieve(t, "", append([]string{"index", "forget", "--as", "text", "a"}, flags...)...)
	require.Equal(t, command.ExitFailed, code)
	require.Contains(t, errOut, "--as wants id or coordinates")

	var forgotten struct{ Articles, Copies int }
	runIndex(t, command.ExitOK, &forgotten, flags, "forget", "--json", "a")
	require.Equal(t, 2, forgotten.Articles)
	require.Equal(t, 1, forgotten.Copies)
	for i, state := range []string{"hidden", "hidden", "", "hidden"} {
		var found []struct{ State string }
		runIndex(t, command.ExitOK, &found, flags, "lookup", "--json", claimed[i].String())
		require.Equal(t, state, found[0].State, i)
	}
}
