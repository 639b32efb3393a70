package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	verdict := w.Verdicts(t, 1)[0]
	require.Empty(t, verdict.Value)

	published := fmt.Sprintf("articles-shadow/0/%d", verdict.Offset)
	for _, at := range []string{at, published} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+w.HTTP+"/console/api/verdict?at="+at, nil)
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
		require.Equal(t, at == published, pair.Articles[0].Published != nil, "the verdict is in the shadow's topic")
	}
}
