package inquiry_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/config"
	"echosieve/app/inquiry"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/test/inprocess"
)

// input returns coordinates of the input topic of these tests, which has more partitions than the output topics.
func input(partition int32, offset int64) article.Coordinates {
	return article.Coordinates{Topic: "feed", Partition: partition, Offset: offset}
}

// output returns an output about an input record, with the verdict unique.
func output(topic string, partition int32, of article.Coordinates, id string, at time.Time) *kgo.Record {
	r := &kgo.Record{Topic: topic, Partition: partition, Timestamp: at, Value: []byte(`{"id":"` + of.String() + `"}`)}
	for key, value := range map[string]string{pipeline.HeaderVerdict: "unique", pipeline.HeaderInput: of.String(),
		pipeline.HeaderRoot: of.String(), pipeline.HeaderRootID: id} {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	return r
}

func TestVerdict(t *testing.T) {
	w := inprocess.Start(t)
	r := inquiry.NewReader(w.Config, io.Discard)
	defer r.Close()
	topics, start := w.Config.Kafka.Topics, time.Now().Add(-time.Hour)
	at := func(i int64) time.Time { return start.Add(time.Duration(i) * time.Second) }
	// Partitions 1 and 3 of the input go to partition 1 of the told. Every third article is a duplicate.
	// Times of partition 3 fall.
	for i := range int64(30) {
		topic := topics.Unique
		if i%3 == 0 {
			topic = topics.Duplicate
		}
		w.PublishTo(t, output(topic, 1, input(1, i), fmt.Sprint(i), at(i)))
		w.PublishTo(t, output(topic, 1, input(3, i), "", at(100-i)))
		w.PublishTo(t, &kgo.Record{Topic: topic, Partition: 1, Timestamp: at(i), Value: []byte("of another program")})
	}
	w.PublishTo(t, output(topics.Duplicate, 1, input(1, 9), "9", at(9))) // delivered again
	for i := range int64(30) {
		for partition, time := range map[int32]time.Time{1: at(i), 3: at(100 - i)} {
			o, err := r.Verdict(t.Context(), input(partition, i), time)
			require.NoError(t, err, "%d/%d", partition, i)
			require.Equal(t, input(partition, i), o.Input)
			require.Less(t, o.Record.Offset, int64(60), "the first of two outputs")
			o, err = r.Verdict(t.Context(), input(partition, i), time.Add(-24*60*60*1e9))
			require.NoError(t, err, "a time that is too early costs time only")
			require.Equal(t, input(partition, i), o.Input)
		}
	}
	_, err := r.Verdict(t.Context(), input(1, 30), at(30))
	require.ErrorIs(t, err, inquiry.ErrNoVerdict)
	_, err = r.Verdict(t.Context(), input(2, 5), at(5))
	require.ErrorIs(t, err, inquiry.ErrNoVerdict, "of another partition")

	found, others, err := r.ByID(t.Context(), "9", start.Add(-time.Minute))
	require.NoError(t, err)
	require.Equal(t, input(1, 9), found.Input)
	require.Empty(t, others, "of one article")
	found, _, err = r.ByID(t.Context(), "9", time.Now())
	require.NoError(t, err)
	require.Nil(t, found)
}

// Verdicts from before output partitions were added stay where they are, and those of the same input partition that came
// later are elsewhere.
func TestVerdictFromBeforePartitionsWereAdded(t *testing.T) {
	w := inprocess.Start(t, func(cfg *config.Config) { cfg.Kafka.Partitions = 4 }) // which were 2
	r := inquiry.NewReader(w.Config, io.Discard)
	defer r.Close()
	start, topic := time.Now().Add(-time.Hour), w.Config.Kafka.Topics.Unique
	w.PublishTo(t, output(topic, 1, input(3, 7), "7", start))
	w.PublishTo(t, output(topic, 3, input(3, 8), "8", start.Add(time.Second)))
	for offset, partition := range map[int64]int32{7: 1, 8: 3} {
		o, err := r.Verdict(t.Context(), input(3, offset), start)
		require.NoError(t, err)
		require.Equal(t, partition, o.Record.Partition)
	}
	_, err := r.Verdict(t.Context(), input(3, 6), start)
	require.ErrorIs(t, err, inquiry.ErrNoVerdict)
}

// A page that is fetched again and again has hundreds of outputs with one id: the latest is found, some others are
// named.
func TestByIDFindsTheLatest(t *testing.T) {
	w := inprocess.Start(t)
	r := inquiry.NewReader(w.Config, io.Discard)
	defer r.Close()
	start := time.Now().Add(-time.Hour)
	of := func(i int) *kgo.Record {
		at := start.Add(time.Duration(i) * time.Second)
		return output(w.Config.Kafka.Topics.Unique, 0, input(0, int64(i)), "a page", at)
	}
	const last = inquiry.MostFound + 20
	w.PublishTo(t, of(last))
	for i := range last {
		w.PublishTo(t, of(i))
	}
	found, others, err := r.ByID(t.Context(), "a page", start)
	require.NoError(t, err)
	require.Equal(t, input(0, last), found.Input)
	require.Len(t, others, inquiry.MostFound)
	require.NotContains(t, others, found.Record.String())
}
