// Package inprocess runs the service in the process of a test, between a Kafka and a Redis that are in the
// process as well.
package inprocess

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/config"
	"echosieve/app/service"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

// World is a running service with its servers.
type World struct {
	Config config.Config
	Redis  *miniredis.Miniredis
	Kafka  *kgo.Client
	HTTP   string // address of the service
	stop   func()
	signal chan os.Signal
	loaded atomic.Pointer[config.Config] // what a reload of the service loads
}

// Start starts all of them, with the settings that the edits have changed. They end with the test.
func Start(t *testing.T, edits ...func(*config.Config)) *World {
	t.Helper()
	kafka, _ := kafkatest.Fake(t, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "10485760"}))
	w := &World{Config: config.Default(), Redis: miniredis.RunT(t)}
	w.Config.Kafka.Brokers, w.Config.Kafka.CreateTopics, w.Config.Kafka.Replication,
		w.Config.Kafka.Partitions = kafka.ListenAddrs(), true, 1, 2
	w.Config.Redis.Addrs = []string{w.Redis.Addr()}
	w.Config.HTTP.Listen = "127.0.0.1:0"
	for _, edit := range edits {
		edit(&w.Config)
	}
	kafkatest.EnsureTopics(t, w.Config.Kafka)
	w.Kafka = kafkatest.Client(t, w.Config.Kafka)
	w.Run(t)
	t.Cleanup(func() { w.stop() })
	return w
}

// Run starts a service with w.Config. Start calls it; a test may call it after Stop.
func (w *World) Run(t *testing.T) {
	t.Helper()
	s, err := service.New(t.Context(), w.Config, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	w.HTTP = s.HTTPAddr()
	w.signal = make(chan os.Signal)
	s.ReloadOn(w.signal, func() (config.Config, error) { return *w.loaded.Load(), nil }, new(slog.LevelVar))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	w.stop = func() {
		cancel()
		require.NoError(t, <-ended)
		w.stop = func() {}
	}
}

// Reload makes the running service load w.Config, which the test has changed. It returns when the service has done so.
func (w *World) Reload() {
	cfg := w.Config
	w.loaded.Store(&cfg)
	w.signal <- syscall.SIGHUP
	w.signal <- syscall.SIGHUP // is received when the first one has been served
}

// Stop ends the service. Its servers go on.
func (w *World) Stop() { w.stop() }

// Args returns the flags with which a command reaches the servers.
func (w *World) Args(args ...string) []string {
	return append(args, "--kafka.brokers", strings.Join(w.Config.Kafka.Brokers, ","), "--redis.addrs",
		w.Config.Redis.Addrs[0])
}

// Value is the value of a record: an article as JSON.
func Value(id, title, text string) string {
	v, err := json.Marshal(map[string]string{"id": id, "title": title, "text": text})
	if err != nil {
		panic(err) // strings always become JSON
	}
	return string(v)
}

// Publish publishes a value into the input topic and returns its coordinates.
func (w *World) Publish(t *testing.T, partition int32, at time.Time, value string) string {
	t.Helper()
	return w.PublishTo(t, &kgo.Record{Topic: w.Config.Kafka.Topics.Inputs[0], Partition: partition, Timestamp: at,
		Value: []byte(value)})
}

// Decide publishes values, a second after each other, into partitions in turn. It waits for each verdict, of which
// there must be none before, and returns the coordinates.
func (w *World) Decide(t *testing.T, from time.Time, partitions int, values ...string) (all []string) {
	t.Helper()
	for i, value := range values {
		all = append(all, w.Publish(t, int32(i%partitions), from.Add(time.Duration(i)*time.Second), value))
		w.Verdicts(t, i+1)
	}
	return all
}

// PublishTo publishes a record and returns its coordinates.
func (w *World) PublishTo(t *testing.T, r *kgo.Record) string {
	t.Helper()
	require.NoError(t, w.Kafka.ProduceSync(t.Context(), r).FirstErr())
	return fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset)
}

// Verdicts waits for n outputs in the output topics, of a shadow in its one topic, and returns them.
func (w *World) Verdicts(t *testing.T, n int) []*kgo.Record {
	t.Helper()
	topics := w.Config.Kafka.Topics
	names := []string{topics.Unique, topics.Duplicate, topics.Dead}
	if w.Config.IsShadow() {
		names = []string{topics.Shadow}
	}
	return kafkaserver.Read(t, strings.Join(w.Config.Kafka.Brokers, ","), names, kafkaserver.AtLeast(n))
}

// Delete removes the records of a partition below an offset, as retention does.
func (w *World) Delete(t *testing.T, topic string, partition int32, below int64) {
	t.Helper()
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, partition, below, -1)
	_, err := kadm.NewClient(w.Kafka).DeleteRecords(t.Context(), offsets)
	require.NoError(t, err)
}

// CreateTopics creates topics with one partition.
func (w *World) CreateTopics(t *testing.T, names ...string) {
	t.Helper()
	_, err := kadm.NewClient(w.Kafka).CreateTopics(t.Context(), 1, 1, nil, names...)
	require.NoError(t, err)
}
