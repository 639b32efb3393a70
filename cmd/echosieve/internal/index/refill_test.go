package index

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/consumer/broker"
	"echosieve/test/commandtest"
	"echosieve/test/inprocess"
	"echosieve/test/kafkatest"
	"echosieve/test/redisserver"
)

func run(t *testing.T, w *inprocess.World, args ...string) string {
	t.Helper()
	out, _ := commandtest.Run(t, command.ExitOK, commandtest.Only(Command()), "",
		append([]string{"index"}, w.Args(args...)...)...)
	return out
}

type refilled struct {
	Restored, Held, Old int
	Cured               bool
	Cut                 []string
}

func runRefill(t *testing.T, w *inprocess.World, args ...string) refilled {
	t.Helper()
	args = w.Args(append([]string{"index", "refill"}, args...)...)
	return commandtest.Answer[refilled](t, commandtest.Only(Command()), args...)
}

// lose flushes Redis, and waits until the service warns of it.
func lose(t *testing.T, w *inprocess.World) {
	t.Helper()
	w.Redis.FlushAll()
	require.Eventually(t, func() bool { return warns(t, w) }, time.Minute, 50*time.Millisecond)
}

func warns(t *testing.T, w *inprocess.World) bool {
	t.Helper()
	response, err := http.Get("http://" + w.HTTP + "/readyz")
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return strings.Contains(string(text), "Redis lost articles")
}

// A refill that reads further back than the one before gives back what that one left out. Only one that has
// read the whole window, and all that Kafka ever had of it, ends the warning of the loss.
func TestRefillReadsFurtherBack(t *testing.T) {
	// The markers of exactly once are younger than the outputs of this test: brokers would find the start of
	// the log for --since.
	w := inprocess.Start(t, func(c *config.Config) { c.Kafka.Delivery, c.Kafka.Partitions = broker.AtLeastOnce, 3 })
	const each = 12
	for i := range 2 * each {
		at, partitions := time.Now().Add(-5*time.Hour), 3 // the third one has old articles only
		if i >= each {
			at, partitions = time.Now(), 2
		}
		text := fmt.Sprintf("Report %d of the harbour: ferry %d brought %d guests and %d cars to island %d at noon.",
			i, 3*i, 7*i*i, 11*i+i*i*i, 13*i)
		w.Publish(t, int32(i%partitions), at, inprocess.Value(fmt.Sprint(i), "", text))
	}
	w.Verdicts(t, 2*each)
	waitCommitted(t, w, 2*each)
	lose(t, w)
	s := runRefill(t, w, "--since", "1h")
	require.Equal(t, each, s.Restored+s.Held)
	require.Zero(t, s.Old, "of older articles none is read")
	require.False(t, s.Cured, "it has read an hour, and not the window")
	require.True(t, warns(t, w))
	s = runRefill(t, w)
	require.Equal(t, []int{each, each}, []int{s.Restored, s.Held}, "those from before are restored")
	require.True(t, s.Cured)
	require.Eventually(t, func() bool { return !warns(t, w) }, time.Minute, 50*time.Millisecond)

	lose(t, w)
	w.Delete(t, w.Config.Kafka.Topics.Unique, 0, 1)
	s = runRefill(t, w)
	require.Equal(t, 2*each-1, s.Restored)
	require.False(t, s.Cured)
	require.Equal(t, []string{w.Config.Kafka.Topics.Unique}, s.Cut)
	require.True(t, warns(t, w))
}

func waitCommitted(t *testing.T, w *inprocess.World, records int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		n, err := kafkatest.AskCommitted(w.Kafka, w.Config.Kafka)
		return err == nil && n == records
	}, time.Minute, 50*time.Millisecond)
}

// Articles of the window that another recipe has published stay out, so the warning of the loss stays.
func TestRefillOfTwoRecipes(t *testing.T) {
	w := inprocess.Start(t, func(c *config.Config) { c.Kafka.Delivery = broker.AtLeastOnce })
	w.Publish(t, 0, time.Now(), inprocess.Value("a", "", "A report about the ferry between both islands, by hand."))
	w.Verdicts(t, 1)
	w.Stop()
	w.Config.Detection.Thresholds.Near = 0.6
	w.Run(t)
	w.Publish(t, 0, time.Now(), inprocess.Value("b", "", "Another one, about beetles in the forests of the north."))
	w.Verdicts(t, 2)
	waitCommitted(t, w, 2)
	lose(t, w)
	out, _ := commandtest.Run(t, command.ExitNo, commandtest.Only(Command()), "",
		append([]string{"index"}, w.Args("refill", "--json", "--detection.near", "0.6")...)...)
	require.Contains(t, out, `"other_recipe": 1,`)
	require.Contains(t, out, `"cured": false`)
	require.True(t, warns(t, w))
}

// What index forget has forgotten stays forgotten: after a loss of entries that the marks outlive, and in the
// index of a new recipe.
func TestRefillLeavesForgottenArticles(t *testing.T) {
	// miniredis lacks what forget needs
	w := inprocess.Start(t, func(c *config.Config) { c.Redis.Addrs = []string{redisserver.Start(t).Addr} })
	const text = "The harbour authority said on Monday that the ferry between both islands will run again next week, " +
		"after the repair of its second engine took eleven days longer than the shipyard had promised in spring."
	at := w.Publish(t, 0, time.Now(), inprocess.Value("a", "", text))
	w.Publish(t, 0, time.Now(), inprocess.Value("b", "", text+" Tickets cost the same."))
	other := w.Publish(t, 0, time.Now(), inprocess.Value("c", "",
		"Quite another report about beetles in the forests of the north, where foresters count them by hand."))
	w.Verdicts(t, 3)
	w.Stop()

	for _, want := range []string{" forgotten, and 1 article with such a root", " forgotten already"} {
		require.Contains(t, strings.Join(strings.Fields(run(t, w, "forget", at)), " "), want)
	}

	client := redis.NewClient(&redis.Options{Addr: w.Config.Redis.Addrs[0]})
	t.Cleanup(func() { _ = client.Close() })
	keys, err := client.Keys(t.Context(), w.Config.Redis.Namespace+":*:*").Result()
	require.NoError(t, err)
	require.NoError(t, client.Del(t.Context(), keys...).Err())
	for _, args := range [][]string{{}, {"--from", "input", "--detection.near", "0.6"}} {
		require.Contains(t, run(t, w, append([]string{"refill", "--json"}, args...)...), `"forgotten": 2,`)
		lookup := append([]string{"lookup", "--json"}, args[min(2, len(args)):]...)
		require.NotContains(t, run(t, w, append(lookup, other)...), `"hidden": true`)
		if len(args) == 0 {
			require.Contains(t, run(t, w, append(lookup, at)...), `"hidden": true`)
			continue
		}
		commandtest.Run(t, command.ExitNo, commandtest.Only(Command()), "",
			append([]string{"index"}, w.Args(append(lookup, at)...)...)...)
	}
}
