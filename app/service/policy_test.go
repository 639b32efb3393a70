package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/config"
	"echosieve/app/service"
	"echosieve/pipeline/article"
	"echosieve/redisindex/keyspace"
	"echosieve/stories"
	"echosieve/test/inprocess"
	"echosieve/test/kafkatest"
)

// A reload changes the topics of new copies. That a record which is delivered again goes to the topic that it went to
// is shown by TestInterleaving of redisindex.
func TestReloadOfPolicy(t *testing.T) {
	const text = "The first battery-powered ferry on the Ellery Strait carried 140 people to Gull Island on Monday, " +
		"replacing a diesel boat that had served the route since 1979. Islanders lined the harbour wall to greet it."
	w := inprocess.Start(t)
	published := 0
	publish := func(text string) (topic string) {
		at := w.Publish(t, 0, time.Now().Add(time.Duration(published)*time.Second), inprocess.Value(text, "", text))
		published++
		for _, o := range w.Verdicts(t, published) {
			if kafkatest.Header(o, "echosieve-input") == at {
				topic = o.Topic
			}
		}
		return topic
	}
	topics := w.Config.Kafka.Topics
	require.Equal(t, topics.Unique, publish(text))
	require.Equal(t, topics.Duplicate, publish(strings.TrimSuffix(text, " it.")))
	unique := article.ToUnique.String()
	w.Config.Policy = article.Policy{Contained: unique, Extends: unique, Revises: unique, Overlaps: unique,
		SameID: unique}
	w.Reload()
	require.Equal(t, topics.Unique, publish(strings.TrimSuffix(text, " to greet it.")))
}

// The role follows a running service. The markers of its fences stand in the topic before the first record: without
// them a former owner could publish an older record after it.
func TestStoriesFollowTheService(t *testing.T) {
	w := inprocess.Start(t, func(c *config.Config) { c.Kafka.Topics.Possible = "articles-possible" })
	cfg := w.Config
	w.CreateTopics(t, "articles-labels")
	s, err := service.NewStories(t.Context(), cfg, service.StoriesConfig{Topic: "articles-stories",
		Labels: "articles-labels"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	// Another program has put a value of its own in the place of the edition: the role waits, and says so.
	edition := keyspace.New(cfg.IndexConfig(s.RecipeID()), 0).StoryEdition()
	_, err = w.Redis.Lpush(edition, "x")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + s.HTTPAddr() + "/readyz")
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return strings.Contains(string(text), "holds a value that is not Echosieve's")
	}, time.Minute, 50*time.Millisecond)
	require.True(t, w.Redis.Del(edition))
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
	w.PublishTo(t, &kgo.Record{Topic: "articles-labels", Value: fmt.Appendf(nil, `{"root":%q,"label":"false"}`, root)})

	reader := kafkatest.Client(t, cfg.Kafka, kgo.ConsumeTopics("articles-stories"), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
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
			found = len(story.Labels) == 1
		})
	}
	cancel()
	require.NoError(t, <-ended)
}
