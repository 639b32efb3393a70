package consumer

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

// received counts the bytes that a client gets, by the address of the broker.
type received struct {
	mu    sync.Mutex
	bytes map[string]int
}

func (r *received) of(addr string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes[addr]
}

type countedConn struct {
	net.Conn
	by   *received
	addr string
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.by.mu.Lock()
	defer c.by.mu.Unlock()
	c.by.bytes[c.addr] += n
	return n, err
}

// Of three brokers the one in the member's rack sends the records, also where it is not the leader. While it is dead,
// leaders send them, and then it does again. Nothing is lost or published twice.
func TestFetchesFromTheNearestReplica(t *testing.T) {
	t.Parallel()
	host.All(t)
	cluster := kafkaserver.StartClusterBehind(t, nil, kafkaserver.V4, 3)
	near, others := cluster.Servers[2], cluster.Servers[:2]
	cfg := kafkatest.RealConfig(others[0], "near")
	cfg.Brokers = []string{others[0].Addr, others[1].Addr}
	cfg.Replication, cfg.Rack, cfg.Compression = -1, kafkaserver.Rack(2), "none"
	kafkatest.EnsureTopics(t, cfg)
	cl := kafkatest.Client(t, cfg, kgo.ProducerBatchCompression(kgo.NoCompression()))
	sent := 0
	send := func(n int) {
		t.Helper()
		recs := kafkatest.Numbered(cfg.Topics.Inputs[0], fmt.Sprint("u", sent, "-"), n, cfg.Partitions)
		for _, r := range recs {
			r.Value = append(r.Value, make([]byte, 4000)...)
		}
		kafkatest.Produce(t, cl, recs...)
		sent += n
	}
	published := func() {
		t.Helper()
		all := kafkatest.ConsumeUntil(t, cfg, kafkatest.OutTopics(cfg.Topics),
			func(all []*kgo.Record) bool { return len(kafkatest.BySource(all)) == sent })
		require.Len(t, all, sent, "nothing is published twice")
	}
	count := &received{bytes: map[string]int{}}
	m := startMember(t, cfg, &router{}, func(c *Consumer) {
		dial := c.cluster.Wire.Transport.Dial
		c.cluster.Wire.Transport.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &countedConn{conn, count, address}, nil
		}
	})
	byBroker := func() (fromNear, fromOthers int) {
		return count.of(near.Addr), count.of(others[0].Addr) + count.of(others[1].Addr)
	}
	const n = 600 // 2.4 MB
	send(n)
	published()
	fromNear, fromOthers := byBroker()
	t.Logf("bytes from the near broker %d, from the others %d", fromNear, fromOthers)
	require.Greater(t, fromNear, n*4000)
	require.Less(t, fromOthers, n*4000/4)

	send(n / 2)
	near.Kill()
	send(n / 2)
	published()
	_, after := byBroker()
	require.Greater(t, after-fromOthers, n/3*4000, "the leaders have sent what came meanwhile")

	near.Restart()
	for start, before := time.Now(), -1; ; { // the near broker is asked again
		require.Less(t, time.Since(start), kafkatest.Patience)
		send(30)
		published()
		now, _ := byBroker()
		if before >= 0 && now-before > 30*4000 {
			break
		}
		before = now
	}
	m.stop(t)
	require.Zero(t, m.value(t, "echosieve_consumer_offset_resets_total"))
	require.Zero(t, m.value(t, "echosieve_consumer_lost_records_total"))
}
