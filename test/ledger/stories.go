package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/stories"
)

// Stories folds the outputs of a service in memory, and returns the records of stories that must come of them, by the
// coordinates of their roots. The values are articles in JSON.
func Stories(inputs map[string]*kgo.Record, outputs []*kgo.Record, window time.Duration) map[string]stories.Record {
	fold := stories.NewFold(&stories.Rules{Window: window})
	decode := decode.DefaultConfig()
	decode.FindPublished = true
	done := map[article.Coordinates]bool{}
	for _, r := range outputs {
		var headers []record.Header
		for _, h := range r.Headers {
			headers = append(headers, record.Header{Key: h.Key, Value: h.Value})
		}
		says, err := pipeline.ParseHeaders(headers)
		in := inputs[says.Input.String()]
		if err != nil || says.Reject != nil || done[says.Input] || in == nil {
			continue
		}
		done[says.Input] = true
		content, _ := decode.Decode(&record.Record{Coordinates: says.Input, Value: in.Value})
		fold.Add(&says.Verdict, article.Ref{ID: content.ID, Coordinates: says.Input}, content, in.Timestamp)
	}
	all := map[string]stories.Record{}
	for _, r := range fold.Records() {
		all[r.Root.Coordinates] = r
	}
	return all
}

// LastStories returns the last record of each key in a topic of stories, which has one partition. It returns none as
// long as the topic does not exist.
func LastStories(ctx context.Context, brokers []string, topic string) (map[string]stories.Record, error) {
	reader, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AlwaysRetryEOF())
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	admin := kadm.NewClient(reader)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	all := map[string]stories.Record{}
	for next := starts[topic][0].Offset; next < ends[topic][0].Offset; {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read %s up to %d of %d: %w", topic, next, ends[topic][0].Offset, ctx.Err())
		}
		for _, r := range fetches.Records() {
			next = r.Offset + 1
			if r.Attrs.IsControl() {
				continue
			}
			var s stories.Record
			if err := json.Unmarshal(r.Value, &s); err != nil || s.Root.Coordinates != string(r.Key) {
				return nil, fmt.Errorf("%s: the story %s of the key %s: %w", Coordinates(r), r.Value, r.Key, err)
			}
			all[string(r.Key)] = s
		}
	}
	return all, nil
}

// Story is a kind of violation: the record of a story is not that which follows from the outputs, or from the state.
const Story Kind = "stories"

// CompareStories returns a violation for each story that is not as wanted. Version and state, which depend on the way
// to a story, may differ.
func CompareStories(want, got map[string]stories.Record) (bad Violations) {
	roots := maps.Clone(want)
	maps.Copy(roots, got)
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		if w, g := plain(want[root]), plain(got[root]); w != g {
			bad.Add(Story, "%s must be\n%s\nand is\n%s", root, w, g)
		}
	}
	return bad
}

// plain is a story as text, without its version and state.
func plain(r stories.Record) string {
	r.Version, r.State = 0, ""
	text, _ := json.Marshal(r) // numbers and strings always marshal
	return string(text)
}
