package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"echosieve/internal/app/command"
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
	pages := filepath.Join(dir, "pages.jsonl")
	require.NoError(t, os.WriteFile(pages, []byte(boilerplatePages(30)+"{\"id\":\"x\",\"text\":\"...\"}\n"), 0o600))
	broker := testBroker(t)
	kafka := "--kafka.brokers=" + broker.ListenAddrs()[0]
	code, _, errOut := echosieve(t, boilerplatePages(30), "produce", kafka)
	require.Equal(t, command.ExitOK, code, errOut)

	for name, from := range map[string][]string{
		// Of values in Avro, files hold the JSON.
		"file": {"--from", pages, "--input.format", "avro", "--input.framing", "confluent", "--input.registry.urls",
			"http://127.0.0.1:1"},
		"topic": {"--from", config.Default().Kafka.Topics.Input, kafka},
	} {
		out := filepath.Join(dir, name+".tsv")
		args := append([]string{"boilerplate", "learn", "--out", out, "--starts-in", "2h", "--json"}, from...)
		code, stdout, errOut := echosieve(t, "", args...)
		if name == "file" {
			require.Equal(t, command.ExitNo, code, errOut)
			require.Contains(t, errOut, "1 piece without an article")
		} else {
			require.Equal(t, command.ExitOK, code, errOut)
		}
		var got struct {
			Articles, Publishers, Sentences int
			Begin                           time.Time
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &got))
		require.Equal(t, 30, got.Articles)
		require.Equal(t, 1, got.Publishers)
		require.Equal(t, 1, got.Sentences)
		require.WithinDuration(t, time.Now().Add(2*time.Hour), got.Begin, 10*time.Minute)
		table, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Contains(t, string(table), got.Begin.Format(time.RFC3339)+"\tcourier\t30\t"+
			strings.ToLower(boilerplateNotice)+"\n")

		// The sentence is in the table, so that a second run adds nothing.
		code, stdout, errOut = echosieve(t, boilerplatePages(30), "boilerplate", "learn", "--out", out, "--from", "-")
		require.Equal(t, command.ExitOK, code, errOut)
		require.Contains(t, stdout, "no new sentence was learnt")
		again, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Equal(t, table, again)

		text := "The harbour of Larkfield handled more containers in March than in any month before, Anna Velde said. "
		code, stdout, errOut = echosieve(t, "", "compare", "--publisher", "courier", "--detection.boilerplate_file",
			out, text+boilerplateNotice, text)
		require.Equal(t, command.ExitOK, code, errOut)
		require.Contains(t, strings.Join(strings.Fields(stdout), " "), " % left out as boilerplate")
	}
}
