package kafkaserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/host"
)

// Variable is the environment variable that names a running cluster (host:port,...) for Shared. test/servers sets it.
const Variable = "ECHOSIEVE_TEST_KAFKA"

// shared is the broker of this test binary.
var shared struct {
	host  *host.Host
	start func() (*Server, error) // nil unless Main runs
}

// Shared returns a broker of V4 that other tests use at the same time: the one of ECHOSIEVE_TEST_KAFKA, else
// one that the test binary starts at the first call and Main stops. Give topics, groups and transactional ids
// names that no other test uses. It may not be stopped; only its addresses are set.
func Shared(t testing.TB) *Server {
	t.Helper()
	host.SkipShort(t)
	if addr := os.Getenv(Variable); addr != "" {
		return &Server{Addr: addr, Reached: addr}
	}
	require.NotNil(t, shared.start, "TestMain must call kafkaserver.Main, which stops the shared broker")
	server, err := shared.start()
	require.NoError(t, err)
	return &Server{Addr: server.Addr, Reached: server.Reached}
}

// Main is for TestMain: it runs the tests, stops the broker that they shared, and returns the exit code. If
// the test binary dies before, the system ends the broker.
func Main(m *testing.M) int {
	shared.start = sync.OnceValues(func() (server *Server, err error) {
		ctx, cancel := context.WithCancelCause(context.Background())
		shared.host = host.New(ctx, cancel)
		err = shared.host.Do(func() { server = Start(shared.host, V4) })
		return server, err
	})
	code := m.Run()
	if shared.host != nil {
		shared.host.Close()
	}
	return code
}

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

// ReadAll returns what topics hold now, the records of each partition in their order. A topic that does not exist holds
// nothing.
func ReadAll(ctx context.Context, brokers, topics []string, opts ...kgo.Opt) (all []*kgo.Record, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	asking, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.AlwaysRetryEOF())
	if err != nil {
		return nil, err
	}
	defer asking.Close()
	starts, errStarts := kadm.NewClient(asking).ListStartOffsets(ctx, topics...)
	ends, errEnds := kadm.NewClient(asking).ListEndOffsets(ctx, topics...)
	if err := errors.Join(errStarts, errEnds, ends.Error()); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil, fmt.Errorf("ends of %s: %w", topics, err)
	}
	from, unread := starts.KOffsets(), kadm.Offsets{}
	ends.Each(func(o kadm.ListedOffset) {
		if start, _ := starts.Lookup(o.Topic, o.Partition); o.Offset > start.Offset {
			unread.AddOffset(o.Topic, o.Partition, o.Offset, -1)
		} else {
			delete(from[o.Topic], o.Partition)
		}
	})
	// Markers of transactions are read as well: one can be the last record of a partition.
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(brokers...), kgo.AlwaysRetryEOF(),
		kgo.KeepControlRecords(), kgo.ConsumePartitions(from))...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for left := len(unread.Sorted()); left > 0; {
		for _, r := range client.PollFetches(ctx).Records() {
			if !r.Attrs.IsControl() {
				all = append(all, r)
			}
			if end, _ := unread.Lookup(r.Topic, r.Partition); end.At == r.Offset+1 {
				left--
			}
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read %s: %d partitions are not read to their ends: %w", topics, left, ctx.Err())
		}
	}
	return all, nil
}

// AtLeast is enough for Read: so many records.
func AtLeast(n int) func([]*kgo.Record) bool {
	return func(all []*kgo.Record) bool { return len(all) >= n }
}
