package kafkaserver

import (
	"cmp"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Patience bounds each wait for a fact. Only a test that hangs reaches it: as test/mutants makes it, in less time.
var Patience = cmp.Or(shortened(), 5*time.Minute)

func shortened() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("ECHOSIEVE_TEST_PATIENCE"))
	return d
}

// Client returns a client of brokers (host:port,...). It ends with the test.
func Client(t testing.TB, brokers string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(brokers, ",")...)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// Read reads topics from their starts until the records are enough.
func Read(t testing.TB, brokers string, topics []string, enough func(all []*kgo.Record) bool,
	opts ...kgo.Opt) (all []*kgo.Record) {
	t.Helper()
	client := Client(t, brokers, append([]kgo.Opt{kgo.ConsumeTopics(topics...), kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.MetadataMinAge(50 * time.Millisecond)}, opts...)...)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	for !enough(all) {
		all = append(all, client.PollFetches(ctx).Records()...)
		require.NoError(t, ctx.Err(), "only %d records in %s", len(all), topics)
	}
	return all
}

// AtLeast is enough for Read: so many records.
func AtLeast(n int) func([]*kgo.Record) bool {
	return func(all []*kgo.Record) bool { return len(all) >= n }
}
