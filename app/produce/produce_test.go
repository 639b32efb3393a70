package produce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"echosieve/app/config"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A lost connection is waited for. Ended while it lasts, the command names the flag with which it goes on, and then
// each article is published once.
func TestGoesOn(t *testing.T) {
	c, cfg := goesOn(t, 2500)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	c.lost.Store(1000) // the first batch is one request
	waiting := watch{"waiting for brokers: ", interrupt}
	s, err := Files(ctx, cfg, []string{"-"}, strings.NewReader(c.text), waiting, Options{})
	require.EqualError(t, err, "interrupted: the rest was not published\nto go on, type the same command with --skip 1000")
	require.EqualValues(t, 1000, s.Published)
	require.EqualValues(t, 1000, s.Skip)

	answers := watch{"waiting for brokers: ", func() { c.lost.Store(1 << 40) }}
	s, err = Files(t.Context(), cfg, []string{"-"}, strings.NewReader(c.text), answers, Options{Skip: s.Skip})
	require.NoError(t, err)
	require.EqualValues(t, 1500, s.Published)
	require.Zero(t, s.Skip)
	seen := map[string]int{}
	for _, r := range kafkatest.ConsumeUntil(t, cfg.Kafka, cfg.Kafka.Topics.Inputs, kafkatest.AtLeast(2500)) {
		seen[string(r.Key)]++
	}
	require.Len(t, seen, 2500)
	for id, times := range seen {
		require.Equal(t, 1, times, id)
	}

	_, err = Files(t.Context(), cfg, []string{"-"}, strings.NewReader(c.text), io.Discard, Options{Skip: 2501})
	require.ErrorContains(t, err, "--skip 2501 is more than the 2500 records")
}

// losing is a text of articles, and a broker that closes the connection on which records come, once it has so many.
type losing struct {
	text string
	lost atomic.Int64
}

func goesOn(t *testing.T, n int) (*losing, config.Config) {
	fake, kafka := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, kafka)
	c, got := &losing{}, int64(0)
	for i := range n {
		c.text += fmt.Sprintf(`{"id":"%d","text":"t"}`+"\n", i)
	}
	fake.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if got >= c.lost.Load() {
			return nil, errors.New("lost"), true
		}
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			for _, p := range topic.Partitions {
				var b kmsg.RecordBatch
				require.NoError(t, b.ReadFrom(p.Records))
				got += int64(b.NumRecords)
			}
		}
		return nil, nil, false
	})
	cfg := config.Default()
	cfg.Kafka = kafka
	return c, cfg
}

// watch calls do whenever text is written.
type watch struct {
	text string
	do   func()
}

func (w watch) Write(b []byte) (int, error) {
	if strings.Contains(string(b), w.text) {
		w.do()
	}
	return len(b), nil
}
