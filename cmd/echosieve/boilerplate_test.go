package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
	"echosieve/internal/app/config"

	"github.com/stretchr/testify/require"
)

const boilerplateNotice = "This page was put together from public sources and is no legal advice."

// boilerplatePages returns pages of one publisher, a JSON object a line: different articles above the same notice.
func boilerplatePages(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"%d","source":"courier","text":"Report w%dx of the harbour office. The number of ships was v%dx. %s"}`+"\n",
			i, i, 7*i, boilerplateNotice)
	}
	return b.String()
}

func TestBoilerplateIsLearntFromFileAndTopic(t *testing.T) {
	dir := t.TempDir()
	pages := commandtest.FileIn(t, dir, "pages.jsonl", boilerplatePages(30)+"{\"id\":\"x\",\"text\":\"...\"}\n")
	broker := testBroker(t)
	kafka := "--kafka.brokers=" + broker.ListenAddrs()[0]
	echosieve(t, command.ExitOK, boilerplatePages(30), "produce", kafka)

	for name, from := range map[string][]string{
		// Of values in Avro, files hold the JSON.
		"file": {"--from", pages, "--input.format", "avro", "--input.framing", "confluent", "--input.registry.urls",
			"http://127.0.0.1:1"},
		"topic": {"--from", config.Default().Kafka.Topics.Input, kafka},
	} {
		out := filepath.Join(dir, name+".tsv")
		args := append([]string{"boilerplate", "learn", "--out", out, "--starts-in", "2h", "--json"}, from...)
		code, says := command.ExitOK, ""
		if name == "file" {
			code, says = command.ExitNo, "1 piece without an article"
		}
		stdout, errOut := echosieve(t, code, "", args...)
		require.Contains(t, errOut, says)
		var got struct {
			Articles, Publishers, Sentences int
			Begin                           time.Time
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &got))
		require.Equal(t, []int{30, 1, 1}, []int{got.Articles, got.Publishers, got.Sentences})
		require.WithinDuration(t, time.Now().Add(2*time.Hour), got.Begin, 10*time.Minute)
		table := commandtest.Read(t, out)
		require.Contains(t, table, got.Begin.Format(time.RFC3339)+"\tcourier\t30\t"+
			strings.ToLower(boilerplateNotice)+"\n")

		// The sentence is in the table, so that a second run adds nothing.
		stdout, _ = echosieve(t, command.ExitOK, boilerplatePages(30), "boilerplate", "learn", "--out", out, "--from",
			"-")
		require.Contains(t, stdout, "no new sentence was learnt")
		require.Equal(t, table, commandtest.Read(t, out))

		text := "The harbour of Larkfield handled more containers in March than in any month before, Anna Velde said. "
		stdout, _ = echosieve(t, command.ExitOK, "", "compare", "--publisher", "courier",
			"--detection.boilerplate_file", out, text+boilerplateNotice, text)
		require.Contains(t, strings.Join(strings.Fields(stdout), " "), " % left out as boilerplate")
	}
}
