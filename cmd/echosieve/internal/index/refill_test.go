package index

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/command"
	"echosieve/app/command/commandtest"
	"echosieve/app/config"
	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/test/inprocess"
	"echosieve/test/redisserver"
)

// run runs one of the commands of the index and returns what it prints.
func run(t *testing.T, w *inprocess.World, args ...string) string {
	t.Helper()
	out, _ := commandtest.Run(t, command.ExitOK, commandtest.Only(Command()), "",
		append([]string{"index"}, w.Args(args...)...)...)
	return out
}

// runRefill runs index refill and returns its summary.
func runRefill(t *testing.T, w *inprocess.World, args ...string) (s struct {
	Restored, Held int
	Cured          bool
	Cut            []string
},
) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(run(t, w, append([]string{"refill", "--json"}, args...)...)), &s))
	return s
}

// lose flushes Redis, and waits until the service warns of it.
func lose(t *testing.T, w *inprocess.World) {
	t.Helper()
	w.Redis.FlushAll()
	require.Eventually(t, func() bool { return warns(t, w) }, time.Minute, 50*time.Millisecond)
}

// warns says whether the service warns of lost articles.
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
	w := inprocess.Start(t, func(c *config.Config) { c.Kafka.Delivery = broker.AtLeastOnce })
	const each = 12
	for i := range 2 * each {
		at := time.Now().Add(-5 * time.Hour)
		if i >= each {
			at = time.Now()
		}
		text := fmt.Sprintf("Report %d of the harbour: ferry %d brought %d guests and %d cars to island %d at noon.",
			i, 3*i, 7*i*i, 11*i+i*i*i, 13*i)
		w.Publish(t, int32(i%2), at, inprocess.Value(fmt.Sprint(i), "", text))
	}
	w.Verdicts(t, 2*each)
	admin := kadm.NewClient(w.Kafka)
	require.Eventually(t, func() bool {
		committed, err := admin.FetchOffsets(t.Context(), w.Config.Kafka.Group)
		n := int64(0)
		committed.Each(func(o kadm.OffsetResponse) { n += max(0, o.At) })
		return err == nil && n == 2*each
	}, time.Minute, 50*time.Millisecond)

	lose(t, w)
	s := runRefill(t, w, "--since", "1h")
	require.Equal(t, each, s.Restored+s.Held)
	require.False(t, s.Cured, "it has read an hour, and not the window")
	require.True(t, warns(t, w))
	s = runRefill(t, w)
	require.Equal(t, []int{each, each}, []int{s.Restored, s.Held}, "those from before are restored")
	require.True(t, s.Cured)
	require.Eventually(t, func() bool { return !warns(t, w) }, time.Minute, 50*time.Millisecond)
	s = runRefill(t, w, "--since", "2h")
	require.Zero(t, s.Restored+s.Held, "a second refill has nothing left to restore")

	lose(t, w)
	w.Delete(t, w.Config.Kafka.Topics.Unique, 0, 1)
	s = runRefill(t, w)
	require.Equal(t, 2*each-1, s.Restored)
	require.False(t, s.Cured)
	require.Equal(t, []string{w.Config.Kafka.Topics.Unique}, s.Cut)
	require.True(t, warns(t, w))
}

// A partition that was added after the committed offsets were read holds nothing that was committed.
func TestRefillOfAnAddedPartition(t *testing.T) {
	w := inprocess.Start(t)
	w.Stop()
	input := w.Config.Kafka.Topics.Inputs[0]
	for partition := range int32(2) {
		w.PublishTo(t, &kgo.Record{Topic: input, Partition: partition, Timestamp: time.Now(), Value: []byte("{}")})
	}
	archive, err := tools.NewArchive(w.Config.Kafka, input)
	require.NoError(t, err)
	defer archive.Close()
	r := &refiller{
		index: &opened{cfg: w.Config}, archive: archive, from: fromInput, oldest: time.Now().Add(-time.Hour),
		committed: map[string][]int64{input: {1}}, progress: &progress{},
	}
	parts, err := r.findParts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []part{{input, 0, 0, 1}}, parts)
}

// What index forget has forgotten stays forgotten: after a loss of entries that the marks outlive, and in the
// index of a new recipe.
func TestRefillLeavesForgottenArticles(t *testing.T) {
	w := inprocess.Start(t)
	w.Stop() // miniredis lacks what forget needs
	w.Config.Redis.Addrs = []string{redisserver.Start(t).Addr}
	w.Run(t)
	t.Cleanup(func() { w.Stop() })
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
		require.Contains(t, run(t, w, append(lookup, at)...), `"hidden": true`)
		require.NotContains(t, run(t, w, append(lookup, other)...), `"hidden": true`)
	}
}
