package service_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/internal/app/config"
	"echosieve/internal/app/service"
	"echosieve/stories"
	"echosieve/test/inprocess"
)

// The role follows a running service. The markers of its fences stand in the topic before the first record: without
// them a former owner could publish an older record after it.
func TestStoriesFollowTheService(t *testing.T) {
	w := inprocess.Start(t, func(c *config.Config) { c.Kafka.Topics.Possible = "articles-possible" })
	cfg := w.Config
	s, err := service.NewStories(t.Context(), cfg, service.StoriesConfig{Topic: "articles-stories"},
		slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	// In a topic of several partitions, compaction would keep an old record of a story.
	_, err = kadm.NewClient(w.Kafka).CreateTopic(t.Context(), 3, 1, nil, "three")
	require.NoError(t, err)
	wrong, err := service.NewStories(t.Context(), cfg, service.StoriesConfig{Topic: "three"},
		slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.ErrorContains(t, wrong.Run(t.Context()), "must have one partition, or compaction keeps old snapshots: "+
		"delete it and set kafka.create_topics: true, or name another topic (it has 3)")
	const text = "The ferry to Gull Island carried 140 passengers on Monday, and the school choir sang at the harbour."
	root := w.Publish(t, 0, time.Now(), inprocess.Value("a", "Ferry", text))
	w.Verdicts(t, 1)
	w.Publish(t, 1, time.Now(), inprocess.Value("b", "Ferry again", text))

	reader, err := kgo.NewClient(kgo.SeedBrokers(cfg.Kafka.Brokers...), kgo.ConsumeTopics("articles-stories"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.KeepControlRecords(), kgo.FetchMaxWait(100*time.Millisecond))
	require.NoError(t, err)
	defer reader.Close()
	patience, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	markers := 0
	for found := false; !found; {
		fetches := reader.PollFetches(patience)
		require.NoError(t, patience.Err(), "no story")
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Attrs.IsControl() {
				markers++
				return
			}
			var story stories.Record
			require.NoError(t, json.Unmarshal(r.Value, &story))
			require.Equal(t, root, story.Root.Coordinates)
			require.Equal(t, "Ferry", story.Root.Title)
			require.Equal(t, 1, story.Copies)
			require.Positive(t, markers, "the partition was not fenced")
			found = true
		})
	}
	cancel()
	require.NoError(t, <-ended)
}
