package refill_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/app/refill"
	"echosieve/pipeline/article"
	"echosieve/redisindex/watch"
	"echosieve/test/inprocess"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
)

// Of a gap whose records are all older than the window nothing is read, and then the index lacks nothing.
func TestAGapThatIsTooOldIsNotRead(t *testing.T) {
	t.Parallel()
	w := inprocess.Start(t)
	w.Stop()
	cfg, client := w.Config, redisrig.Client(t, w.Redis.Addr())
	for range 3 {
		w.Publish(t, 0, time.Now().Add(-2*cfg.Window), inprocess.Value("a", "", "An article of the past."))
	}
	keys := indexrig.New(t, client, redisrig.Config(redisrig.Standard)).Keys()
	other := keys.ID
	other.Recipe = "another-recipe"
	h := watch.NewHandover(client, keys, cfg.Kafka.Group, cfg.Window)
	at := article.Coordinates{Topic: cfg.Kafka.Topics.Inputs[0]}
	require.NoError(t, h.Fill(t.Context(), at))
	at.Offset = 3
	committed := map[article.Coordinates]string{
		at: watch.Label{Index: other, Markers: 1, Seen: time.Now(), Ticket: 3}.String(),
	}
	var log bytes.Buffer
	follower := refill.Follower{Config: cfg, Handover: h, Log: slog.New(slog.NewTextHandler(&log, nil))}
	lacked, err := follower.CatchUp(t.Context(), committed, func(string) {})
	require.NoError(t, err)
	require.True(t, lacked)
	require.Contains(t, log.String(), "records=0")
	lack, err := h.Lack(t.Context(), committed)
	require.NoError(t, err)
	require.Nil(t, lack)
}
