package service_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/inprocess"
)

// The console of a shadow shows the article of a record that the shadow published without its value.
func TestConsoleOfAShadow(t *testing.T) {
	w := inprocess.Start(t)
	w.Stop()
	w.CreateTopics(t, "articles-shadow")
	w.Config.HTTP.Console = true
	w.Config = w.Config.AsShadow()
	w.Run(t)
	at := w.Publish(t, 0, time.Now(), `{"id": "a", "text": "The ferry carried 140 passengers."}`)
	reader, err := kgo.NewClient(kgo.SeedBrokers(w.Config.Kafka.Brokers...), kgo.ConsumeTopics("articles-shadow"))
	require.NoError(t, err)
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var published []*kgo.Record
	for len(published) == 0 { // a poll can end without a record
		published = reader.PollFetches(ctx).Records()
		require.NoError(t, ctx.Err())
	}
	require.Empty(t, published[0].Value)

	for _, at := range []string{at, "articles-shadow/0/0"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.HTTP+"/console/api/articles?at="+at, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		var pair struct {
			Articles []struct {
				At, ID, Text, Problem string
				Published             *struct{ Verdict string }
			}
		}
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&pair))
		require.NoError(t, answer.Body.Close())
		require.Len(t, pair.Articles, 1)
		require.Equal(t, "The ferry carried 140 passengers.", pair.Articles[0].Text, pair)
		require.Equal(t, at, pair.Articles[0].At)
		require.Equal(t, at == "articles-shadow/0/0", pair.Articles[0].Published != nil, "the verdict is in the shadow's topic")
	}
}
