package storylist

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/xml"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/stories"
	"echosieve/test/kafkatest"
)

// followed is a list of stories, its topic, and what a test does with both.
type followed struct {
	*testing.T
	*List
	topic string
	kafka *kgo.Client
	admin *kadm.Client
	url   string
}

func newFollowed(t *testing.T) *followed {
	_, cfg := kafkatest.Fake(t)
	f := &followed{T: t, topic: Topic(cfg.Topics.Inputs[0]), kafka: kafkatest.Client(t, cfg)}
	f.admin = kadm.NewClient(f.kafka)
	f.create()
	l, err := New(cfg, f.topic, 24*time.Hour)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	f.List = l
	server := httptest.NewServer(l.Handler(Path, slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *followed) create() {
	_, err := f.admin.CreateTopic(f.Context(), 1, 1, nil, f.topic)
	require.NoError(f, err)
}

// publish publishes stories with the numbers from first on, within one millisecond: each third one has three publishers.
func (f *followed) publish(first, n int) {
	for i := first; i < first+n; i++ {
		names := []string{"Post", "Times", "Star"}
		if i%3 != 0 {
			names = names[:1]
		}
		s := story(strconv.Itoa(i), 1, day, names...)
		f.produce(s)
	}
}

func (f *followed) produce(s stories.Record) {
	kafkatest.Produce(f.T, f.kafka, &kgo.Record{Topic: f.topic, Key: []byte(s.Root.Coordinates), Value: value(f.T, s),
		Timestamp: day})
}

// get asks until the answer says more than that the topic is not known yet.
func (f *followed) get(parameters string, answer any) {
	require.EventuallyWithT(f, func(c *assert.CollectT) {
		r, err := http.Get(f.url + Path + parameters)
		require.NoError(c, err)
		defer r.Body.Close()
		require.Equal(c, http.StatusOK, r.StatusCode)
		require.NoError(c, json.NewDecoder(r.Body).Decode(answer))
	}, time.Minute, 50*time.Millisecond)
}

// A client that follows has every change once and in order, those of a filter alone, whatever the size of an answer.
func TestFollow(t *testing.T) {
	f := newFollowed(t)
	var begin Answer
	f.get("", &begin)
	f.publish(0, 1000)
	for parameters, step := range map[string]int{"limit=50": 1, "limit=7&publishers=3": 3, "limit=200&publisher=star": 3} {
		want, next := 0, begin.Next
		for more := true; more; {
			var c Changes
			f.get("?"+parameters+"&after="+next, &c)
			for _, s := range c.Stories {
				require.Equal(t, strconv.Itoa(want), s.Root.ID, parameters)
				want += step
			}
			require.False(t, c.Reset)
			next, more = c.Next, c.More
		}
		require.GreaterOrEqual(t, want, 1000, parameters)
	}
	var c Changes // the head is the end of the topic, not the last match
	f.get("?publishers=9&after="+begin.Next, &c)
	topic, _, err := parseCursor(begin.Next)
	require.NoError(t, err)
	require.Equal(t, cursor(topic, 1000), c.Next)
	require.False(t, c.More)
}

// Behind a cursor of another topic, or one that leads to what is gone, the stories begin again.
func TestReset(t *testing.T) {
	f := newFollowed(t)
	var begin Answer
	f.get("", &begin)
	f.publish(0, 10)
	reset := func(after, first string) {
		var c Changes
		require.Eventually(t, func() bool { f.get("?after="+after, &c); return c.Reset }, time.Minute, 50*time.Millisecond)
		require.Equal(t, first, c.Stories[0].Root.ID)
		next := Changes{}
		f.get("?after="+c.Next, &next)
		require.False(t, next.Reset)
		require.Empty(t, next.Stories)
	}
	topic, _, err := parseCursor(begin.Next)
	require.NoError(t, err)
	reset("other.3", "0")
	reset(cursor(topic, 11), "0")
	var kept kadm.Offsets
	kept.AddOffset(f.topic, 0, 4, -1)
	_, err = f.admin.DeleteRecords(t.Context(), kept)
	require.NoError(t, err)
	reset(begin.Next, "4")
	for _, after := range []string{"x", ".3", "a.-1", "a.x"} {
		r, err := http.Get(f.url + Path + "?after=" + after)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, http.StatusBadRequest, r.StatusCode, after)
	}
}

// stream reads n events with data and returns their stories, and the last id. Then it hangs up.
func (f *followed) stream(last string, n int) (ids []string, id string) {
	ctx, hangUp := context.WithCancel(f.Context())
	defer hangUp()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+Path, nil)
	require.NoError(f, err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", last)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(f, err)
	defer answer.Body.Close()
	require.Equal(f, "text/event-stream", answer.Header.Get("Content-Type"))
	for lines := bufio.NewScanner(answer.Body); len(ids) < n; {
		require.True(f, lines.Scan(), lines.Err())
		name, data, _ := strings.Cut(lines.Text(), ": ")
		var s stories.Record
		switch name {
		case "id":
			id = data
		case "data":
			require.NoError(f, json.Unmarshal([]byte(data), &s))
			ids = append(ids, s.Root.ID)
		}
	}
	return ids, id
}

// A client that loses its stream goes on behind the last event that it has.
func TestStream(t *testing.T) {
	f := newFollowed(t)
	var begin Answer
	f.get("", &begin)
	f.publish(0, 60)
	last := begin.Next
	for want := 0; want < 60; {
		var ids []string
		ids, last = f.stream(last, 13)
		for _, id := range ids[:min(13, 60-want)] {
			require.Equal(t, strconv.Itoa(want), id)
			want++
		}
		if want == 52 { // what comes while a client waits is sent, too
			go f.publish(60, 5)
		}
	}
	require.Eventually(t, func() bool { return f.streams.TryAcquire(mostStreams) }, time.Minute, 10*time.Millisecond,
		"streams of clients that are gone end")
	r := httptest.NewRequest(http.MethodGet, Path, nil)
	r.Header.Set("Accept", "text/event-stream")
	w := httptest.NewRecorder()
	f.Handler(Path, slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
}

// The feed is well-formed whatever titles hold. Ids do not change, and what changed last comes first.
func TestFeed(t *testing.T) {
	f := newFollowed(t)
	f.publish(0, 9)
	hostile := story("9", 4, day, "<b>&\x01", "a", "b")
	hostile.Root.Title, hostile.Best.URL = "<script>\x00\u202e & ]]>", "javascript:alert(1)"
	hostile.Root.URL = "javascript:alert(1)"
	f.produce(hostile)
	var got feed
	require.Eventually(t, func() bool {
		got = feed{}
		r, err := http.Get(f.url + FeedPath + "?publishers=3")
		require.NoError(t, err)
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK && xml.NewDecoder(r.Body).Decode(&got) == nil && len(got.Entries) == 4
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, "urn:echosieve:story:articles:0:9", got.Entries[0].ID)
	require.Empty(t, got.Entries[0].Links)
	require.Equal(t, "stories.atom?publishers=3", got.Links[0].Href)
	require.Equal(t, got.Entries[0].Updated, got.Updated)
	require.Equal(t, "3 publishers, 4 copies: <b>&<U+0001>, a, b", got.Entries[0].Content)
	for i := 1; i < 4; i++ {
		require.False(t, got.Entries[i].Updated.After(got.Entries[i-1].Updated))
	}
}
