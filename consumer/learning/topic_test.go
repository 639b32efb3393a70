package learning

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/internal/diag"
	"echosieve/pipeline/learnt"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

func TestMain(m *testing.M) { os.Exit(kafkaserver.Main(m)) }

// warnings keeps the last text of the warning of each kind.
type warnings struct{ sync.Map }

func (w *warnings) health() Health {
	return Health{Report: func(string, fmt.Stringer, error) {},
		Warn: func(_, kind, text string) { w.Store(kind, text) }}
}

func (w *warnings) text() string {
	text, _ := w.Load(kind)
	return fmt.Sprint(text)
}

// configured names a topic that does not exist yet.
func configured(t testing.TB) broker.Config {
	t.Helper()
	cfg := kafkatest.RealConfig(kafkaserver.Shared(t), "learning-"+strings.ToLower(rand.Text()))
	cfg.CreateTopics, cfg.Topics.Learnt = true, cfg.Topics.First()+"-learnt"
	return cfg
}

// opened is a process that has read the topic and follows it.
func opened(t testing.TB, cfg broker.Config, w *warnings) *Topic {
	t.Helper()
	topic, err := New(cfg, 7*24*time.Hour, &learnt.Rows{}, nil, slog.New(slog.DiscardHandler), w.health())
	require.NoError(t, err)
	t.Cleanup(topic.Close)
	require.NoError(t, topic.Open(t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { topic.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return topic
}

// knows waits until a process knows so many rows.
func knows(t *testing.T, topic *Topic, rows int) {
	t.Helper()
	require.Eventually(t, func() bool {
		topic.hurry()
		return topic.book.rows.Len() == rows
	}, kafkatest.Patience, 20*time.Millisecond)
}

// Two processes learn one sentence: each reads what both wrote, with the broker's times. What was read is not published
// again, and a process that starts later knows the same.
func TestProcessesShareRows(t *testing.T) {
	cfg := configured(t)
	w := &warnings{}
	first, second := opened(t, cfg, w), opened(t, cfg, w)
	row := learnt.Row{Publisher: "house", Hash: 1, Sentence: "one", Articles: 5}
	require.False(t, first.Learn(row))
	knows(t, first, 1)
	knows(t, second, 1)
	require.False(t, second.Learn(row))
	row.Hash = 2
	require.False(t, second.Learn(row))
	knows(t, first, 2)
	third := opened(t, cfg, w)
	require.Equal(t, first.book.rows.All(), third.book.rows.All())
	all := first.book.rows.All()
	require.True(t, all[0].Begin.After(time.Now()) && all[0].Begin.Before(time.Now().Add(2*time.Hour)), all[0].Begin)
	require.Equal(t, all[0].Begin.Truncate(time.Hour), all[0].Begin)
	require.Empty(t, w.text())

	require.NoError(t, third.Await(t.Context(), time.Now()))
	require.Zero(t, testutil.ToFloat64(third.metrics.waits))
	require.NoError(t, third.Await(t.Context(), time.Now().Add(3*time.Hour)))
	require.InDelta(t, 1, testutil.ToFloat64(third.metrics.ahead), 0)
}

// A shadow publishes nothing.
func TestAShadowReadsOnly(t *testing.T) {
	cfg := configured(t)
	w := &warnings{}
	service := opened(t, cfg, w)
	cfg.Topics.Shadow = "shadow"
	shadow := opened(t, cfg, w)
	require.False(t, shadow.Learn(learnt.Row{Publisher: "house", Hash: 1}))
	require.False(t, service.Learn(learnt.Row{Publisher: "house", Hash: 2}))
	knows(t, shadow, 1)
	require.Equal(t, uint64(2), shadow.book.rows.All()[0].Hash)
}

// A topic that cannot keep the promise is refused with the remedy, at the start and by the command check.
func TestTopicsThatWouldNotWorkAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		partitions int32
		settings   map[string]string
		says       string
	}{
		"time": {1, map[string]string{broker.CleanupPolicy: "compact"},
			"message.timestamp.type CreateTime: processes would not see one time of a row: delete it, it is then made " +
				"with LogAppendTime, or set detection.learn: false"},
		"partitions": {2, map[string]string{broker.CleanupPolicy: "compact", broker.TimeType: "LogAppendTime"},
			"has 2 partitions, it must have one"},
		"policy": {1, map[string]string{broker.TimeType: "LogAppendTime"}, "which deletes rows: set it to compact"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configured(t)
			settings := map[string]*string{}
			for key, value := range c.settings {
				settings[key] = &value
			}
			admin := kadm.NewClient(kafkatest.Client(t, cfg))
			_, err := admin.CreateTopic(t.Context(), c.partitions, 1, settings, cfg.Topics.Learnt)
			require.NoError(t, err)
			topic, err := New(cfg, time.Hour, &learnt.Rows{}, nil, slog.New(slog.DiscardHandler),
				(&warnings{}).health())
			require.NoError(t, err)
			defer topic.Close()
			require.ErrorContains(t, topic.Open(t.Context()), c.says)
			refused := false
			for _, f := range tools.Check(t.Context(), cfg) {
				refused = refused || f.Severity == diag.Failure && f.Subject == "topic "+cfg.Topics.Learnt
			}
			require.True(t, refused)
		})
	}
}

// A missing topic is named if the service may not create topics. Nothing waits for it.
func TestAMissingTopicIsNamed(t *testing.T) {
	cfg := configured(t)
	cfg.CreateTopics = false
	w := &warnings{}
	topic := opened(t, cfg, w)
	require.Contains(t, w.text(), "kafka.create_topics: true")
	require.NoError(t, topic.Await(t.Context(), time.Now()))
	row := learnt.Row{Publisher: "house", Hash: 1, Sentence: "one"}
	require.False(t, topic.Learn(row))
	cfg.CreateTopics = true
	kafkatest.EnsureTopics(t, cfg)
	other := opened(t, cfg, &warnings{})
	require.False(t, other.Learn(row))
	knows(t, topic, 1)
}

// When the topic was deleted, the learnt sentences are gone, in a process that runs as in one that starts. They are
// learnt again.
func TestADeletedTopicBeginsAnew(t *testing.T) {
	cfg := configured(t)
	topic := opened(t, cfg, &warnings{})
	row := learnt.Row{Publisher: "house", Hash: 1, Sentence: "one"}
	require.False(t, topic.Learn(row))
	knows(t, topic, 1)
	_, err := kadm.NewClient(kafkatest.Client(t, cfg)).DeleteTopics(t.Context(), cfg.Topics.Learnt)
	require.NoError(t, err)
	knows(t, topic, 0)
	require.NoError(t, topic.Await(t.Context(), time.Now()))
	require.InDelta(t, 1, testutil.ToFloat64(topic.metrics.rows.WithLabelValues(resultLost)), 0)
	require.False(t, topic.Learn(row))
	knows(t, topic, 1)
}

// What somebody else writes into the topic counts for nothing, and stops nothing.
func TestForeignRecordsStopNothing(t *testing.T) {
	cfg := configured(t)
	topic := opened(t, cfg, &warnings{})
	kafkatest.Produce(t, kafkatest.Client(t, cfg), &kgo.Record{Topic: cfg.Topics.Learnt, Key: []byte("k"),
		Value: []byte("something")})
	require.False(t, topic.Learn(learnt.Row{Publisher: "house", Hash: 1, Sentence: "one"}))
	knows(t, topic, 1)
	require.InDelta(t, 1, testutil.ToFloat64(topic.metrics.rows.WithLabelValues(resultRefused)), 0)
}
