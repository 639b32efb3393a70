package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// Redis loses its data while the service is stopped: the next start reports the loss in one log line and stays ready.
// A first start reports nothing.
func TestRedisLosesItsData(t *testing.T) {
	server := redisserver.Start(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = admin.Close() })
	c := newCluster(t, kafkaserver.Shared(t).Addr, server.Addr)
	settings := c.settings().With(service.Settings{"kafka.commit_interval": "100ms"})
	records := fresh(articles(t))
	sent := 0
	decide := func() {
		publish(t, c, records[sent:sent+50])
		sent += 50
		watch(t, c, sent, func(int) {})
	}
	lines := func(p *service.Process) int { return strings.Count(p.Log(), "copies of them can pass as unique") }
	warned := func(p *service.Process) bool {
		page := ""
		// red for a moment if Redis is slow
		for end := time.Now().Add(service.Patience); !strings.HasPrefix(page, "200"); page = p.Get("/readyz") {
			require.True(t, time.Now().Before(end), page)
		}
		var body struct {
			Components map[string]struct{ Warnings []string }
		}
		require.NoError(t, json.Unmarshal([]byte(page[len("200 "):]), &body))
		return len(body.Components["redis"].Warnings) > 0
	}
	// remembered waits until a commit of the group holds a label about the data in Redis. A later start
	// compares the data with this label.
	remembered := func() {
		admin := kadm.NewClient(kafkaserver.Client(t, c.kafka))
		known, err := admin.FetchOffsets(t.Context(), c.topic)
		require.NoError(t, err)
		decide()
		require.Eventually(t, func() bool {
			now, err := admin.FetchOffsets(t.Context(), c.topic)
			labelled := false
			now.Each(func(o kadm.OffsetResponse) {
				before, _ := known.Lookup(c.topic, o.Partition)
				labelled = labelled || o.At > before.At && strings.Contains(o.Metadata, "index:")
			})
			return err == nil && labelled
		}, service.Patience, 100*time.Millisecond)
	}

	p := service.Start(t, settings)
	p.WaitReady(t)
	decide()
	remembered()
	require.False(t, warned(p), "a first start loses nothing")

	stop(t, p)

	require.NoError(t, admin.FlushAll(t.Context()).Err())
	p = service.Start(t, settings)
	p.WaitReady(t)
	require.Eventually(t, func() bool { return warned(p) }, service.Patience, 50*time.Millisecond)
	decide()
	require.Equal(t, 1, lines(p), p.Log())
	require.InDelta(t, 1, p.Metric(t, `echosieve_redisindex_losses_total{kind="missing"}`), 0)
	stop(t, p)
}
