package consumer

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

// countedConn counts the bytes that a client receives.
type countedConn struct {
	net.Conn
	received *atomic.Int64
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
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
	var fromNear, fromOthers atomic.Int64
	m := startMember(t, cfg, &router{}, func(c *Consumer) {
		dial := c.cluster.Wire.Transport.Dial
		c.cluster.Wire.Transport.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			if address == near.Addr {
				return countedConn{conn, &fromNear}, nil
			}
			return countedConn{conn, &fromOthers}, nil
		}
	})
	const n = 600 // 2.4 MB
	send(n)
	published()
	before := fromOthers.Load()
	t.Logf("bytes from the near broker %d, from the others %d", fromNear.Load(), before)
	require.Greater(t, fromNear.Load(), int64(n*4000))
	require.Less(t, before, int64(n*4000/4))

	send(n / 2)
	near.Kill()
	send(n / 2)
	published()
	require.Greater(t, fromOthers.Load()-before, int64(n/3*4000), "the leaders have sent what came meanwhile")

	near.Restart()
	for start, before := time.Now(), int64(-1); ; { // the near broker is asked again
		require.Less(t, time.Since(start), kafkatest.Patience)
		send(30)
		published()
		now := fromNear.Load()
		if before >= 0 && now-before > 30*4000 {
			break
		}
		before = now
	}
	m.stop(t)
	require.Zero(t, m.value(t, "echosieve_consumer_offset_resets_total"))
	require.Zero(t, m.value(t, "echosieve_consumer_lost_records_total"))
}
