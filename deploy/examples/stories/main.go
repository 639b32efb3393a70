// Command stories keeps a file with one line of JSON for each story, the largest first: go run . BROKERS TOPIC FILE
//
// The topic holds the last record of each story, under the same key. So a process that starts reads the topic from its
// beginning, and needs neither a consumer group nor a state of its own.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
)

// story is what this program needs of a record (docs/stories.schema.json).
type story struct {
	Copies int
	line   []byte
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil && ctx.Err() == nil {
		log.Print(err)
	}
}

func run(ctx context.Context, brokers, topic, file string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return err
	}
	defer client.Close()
	stories := map[string]story{}
	for {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			log.Printf("%s/%d: %v", topic, partition, err)
		})
		fetches.EachRecord(func(r *kgo.Record) {
			s := story{line: r.Value}
			if json.Unmarshal(r.Value, &s) != nil { // such as an empty value, by which somebody has deleted the story
				delete(stories, string(r.Key))
				return
			}
			stories[string(r.Key)] = s // the last record of a key counts
		})
		if err := write(file, stories); err != nil {
			return err
		}
	}
}

// write replaces the file in one step: who reads it meanwhile sees the old one or the new one.
func write(file string, stories map[string]story) error {
	all := make([]story, 0, len(stories))
	for _, s := range stories {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b story) int {
		return cmp.Or(cmp.Compare(b.Copies, a.Copies), bytes.Compare(a.line, b.line))
	})
	var lines bytes.Buffer
	for _, s := range all {
		lines.Write(s.line)
		lines.WriteByte('\n')
	}
	if err := os.WriteFile(file+".new", lines.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
