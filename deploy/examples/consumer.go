// Command examples prints what Echosieve has decided, one JSON object a line: go run consumer.go BROKERS GROUP TOPIC...
//
// Offsets are committed after the work: a record whose work was not finished comes again.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Args[1], ",")...), kgo.ConsumerGroup(os.Args[2]),
		kgo.ConsumeTopics(os.Args[3:]...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// Echosieve publishes in transactions. Aborted ones stay invisible; their markers and those of
		// commits are no records, but take offsets.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.AutoCommitMarks(),
	)
	if err != nil {
		log.Print(err)
		return
	}
	defer client.Close()
	lines := json.NewEncoder(os.Stdout)
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) {
			if ctx.Err() == nil {
				log.Printf("%s/%d: %v", topic, partition, err)
			}
		})
		fetches.EachRecord(func(r *kgo.Record) {
			headers := map[string]string{}
			for _, h := range r.Headers {
				headers[h.Key] = string(h.Value)
			}
			var article struct{ ID string }
			if len(r.Value) > 0 { // an empty value deletes the article of the key
				if err := json.Unmarshal(r.Value, &article); err != nil {
					log.Printf("%s: %v", headers["echosieve-input"], err)
				}
			}
			_ = lines.Encode(map[string]string{
				"input": headers["echosieve-input"], "verdict": headers["echosieve-verdict"],
				"relation": headers["echosieve-relation"],
				"original": headers["echosieve-original-id"], "id": article.ID,
			})
			client.MarkCommitRecords(r)
		})
	}
	if err := client.CommitMarkedOffsets(context.Background()); err != nil {
		log.Print(err)
	}
}
