package release_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/command"
	"echosieve/app/inquiry"
	"echosieve/app/release"
	"echosieve/test/inprocess"
	"echosieve/test/kafkatest"
)

const ferry = "The first battery-powered ferry on the Ellery Strait carried 140 passengers to Gull Island on Monday, " +
	"replacing a diesel boat that had served the route since 1979. The crossing takes 35 minutes and the vessel " +
	"recharges at the pier in under an hour. Islanders lined the harbour wall to greet it."

var errKilled = errors.New("killed")

func open(t *testing.T, w *inprocess.World) *release.Releaser {
	t.Helper()
	_, index, err := inquiry.Open(t.Context(), w.Config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, index.Client().Close()) })
	r, err := release.New(w.Config, index, io.Discard)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// A dropped article is published as unique once, wherever the command was killed before. Copies that come later are
// copies, and so is a second release that somebody publishes by hand.
func TestRelease(t *testing.T) {
	w := inprocess.Start(t)
	copied := func(id string) string {
		return inprocess.Value(id, "", strings.Replace(ferry, "greet it", "see boat "+id, 1))
	}
	all := w.Decide(t, time.Now().Add(-time.Hour), 2, inprocess.Value("a", "", ferry), copied("b"), copied("c"),
		copied("d"), inprocess.Value("e", "", ferry))
	r := open(t, w)
	published := len(all)
	for i, step := range []string{"", release.StepMarked, release.StepPublished, ""} {
		name := all[1+i]
		dry, err := r.Release(t.Context(), name, time.Time{}, true)
		require.NoError(t, err)
		require.Empty(t, dry.New)
		if step != "" {
			r.OnPassed(func(at string) error {
				if at == step {
					return errKilled
				}
				return nil
			})
			_, err = r.Release(t.Context(), name, time.Time{}, false)
			require.ErrorIs(t, err, errKilled)
			r.OnPassed(func(string) error { return nil })
		}
		done, err := r.Release(t.Context(), name, time.Time{}, false)
		require.NoError(t, err)
		require.Equal(t, step == release.StepPublished, done.Already)
		again, err := r.Release(t.Context(), name, time.Time{}, false)
		require.NoError(t, err)
		require.True(t, again.Already)
		require.Equal(t, done.New, again.New)
		published++
		for _, out := range w.Verdicts(t, published) {
			if kafkatest.Header(out, "echosieve-input") == done.New {
				require.Equal(t, w.Config.Kafka.Topics.Unique, out.Topic)
				require.Equal(t, []string{"unique", "released", name, done.New}, []string{
					kafkatest.Header(out, "echosieve-verdict"), kafkatest.Header(out, "echosieve-reason"),
					kafkatest.Header(out, "echosieve-release"), kafkatest.Header(out, "echosieve-root")})
			}
		}
		again, err = r.Release(t.Context(), done.New, time.Time{}, false) // as the id finds it
		require.NoError(t, err)
		require.Equal(t, []any{name, done.New, true}, []any{again.Record, again.New, again.Already})
	}
	later := w.Publish(t, 1, time.Now(), copied("b"))
	byHand := &kgo.Record{Topic: w.Config.Kafka.Topics.Inputs[0], Partition: 1, Timestamp: time.Now(),
		Value: []byte(copied("b")), Headers: []kgo.RecordHeader{{Key: "echosieve-release", Value: []byte(all[1])}}}
	second := w.PublishTo(t, byHand)
	unique := 0
	for _, out := range w.Verdicts(t, published+2) {
		input := kafkatest.Header(out, "echosieve-input")
		if input == later || input == second {
			require.Equal(t, w.Config.Kafka.Topics.Duplicate, out.Topic)
		}
		if kafkatest.Header(out, "echosieve-reason") == "released" {
			unique++
		}
	}
	require.Equal(t, 4, unique)
	var refused *command.AnswerError
	_, err := r.Release(t.Context(), all[0], time.Time{}, false)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Text, "nothing was dropped")
	_, err = r.Release(t.Context(), "nobody", time.Now().Add(-time.Hour), false)
	require.ErrorAs(t, err, &refused)
	w.Delete(t, "articles", 1, 1)
	latest, err := r.Release(t.Context(), "b", time.Now().Add(-2*time.Hour), true)
	require.NoError(t, err)
	require.Equal(t, second, latest.Record, "the latest with the id")
}
