package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// The command publishes a dropped article once, on real Kafka and Redis: the second call publishes nothing.
func TestRelease(t *testing.T) {
	const ferry = "The first battery-powered ferry on the Ellery Strait carried 140 passengers to Gull Island on Monday, " +
		"replacing a diesel boat that had served the route since 1979. The crossing takes 35 minutes and the vessel " +
		"recharges at the pier in under an hour."
	c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Addr(t))
	p := service.Start(t, c.settings()).WaitReady(t)
	send := func(id, text string) (coordinates string) { // the key leads all of them into one partition
		value := fmt.Sprintf(`{"id":%q,"text":%q}`, id, text)
		for at := range publish(t, c, []*kgo.Record{{Key: []byte("k"), Value: []byte(value)}}) {
			coordinates = at
		}
		return coordinates
	}
	decided := func(n int) map[string]map[string]string { return byVerdict(watch(t, c, n, func(int) {})) }
	send("a", ferry)
	dropped := send("b", "RIVERTON (Press) - "+ferry)
	require.Equal(t, "near", decided(2)[dropped][pipeline.HeaderVerdict])
	for _, name := range []string{"b", "b", dropped} {
		require.Contains(t, echosieve(t, c.settings(), "release", name), dropped)
	}
	last := send("c", strings.Repeat("Beetles in the forest, which a forester counts. ", 3))
	all := decided(4)
	require.Len(t, all, 4)
	require.Equal(t, "unique", all[last][pipeline.HeaderVerdict])
	for at, h := range all {
		if h[pipeline.HeaderReason] == "released" {
			require.Equal(t, []string{"unique", dropped, at}, []string{h[pipeline.HeaderVerdict], h[pipeline.HeaderRelease],
				h[pipeline.HeaderRoot]})
			delete(all, at)
		}
	}
	require.Len(t, all, 3, "one record was released")
	require.Zero(t, p.End(t))
}
