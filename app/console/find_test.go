package console_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"echosieve/app/console"
	"echosieve/test/inprocess"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// An id that another process has decided is found in Kafka.
func TestFindsWhatAnotherProcessHasDecided(t *testing.T) {
	w := inprocess.Start(t)
	at := w.Publish(t, 0, time.Now(), `{"id":"elsewhere","text":"The ferry of Skarvik stays in port until the storm ends."}`)
	w.Verdicts(t, 1)
	news, err := w.Config.LoadRecipe()
	require.NoError(t, err)
	c := console.New(w.Config, news, http.NotFoundHandler(), nil, slog.New(slog.DiscardHandler))
	defer c.Close()
	find := func(id string) gjson.Result {
		answer := httptest.NewRecorder()
		c.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, console.Path+"api/find?q="+id, nil))
		require.Equal(t, http.StatusOK, answer.Code)
		return gjson.ParseBytes(answer.Body.Bytes())
	}
	require.Equal(t, at, find("elsewhere").Get("rows.0.at").Str)
	require.Equal(t, "unique", find("elsewhere").Get("rows.0.verdict").Str)
	nothing := find("nowhere")
	require.Empty(t, nothing.Get("rows").Array())
	require.Contains(t, nothing.Get("note").Str, "output topics")
}
