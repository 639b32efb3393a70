package storylist

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/record"
	"echosieve/stories"
	"echosieve/test/kafkatest"
)

var day = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func story(id string, copies int, last time.Time, publishers ...string) stories.Record {
	r := stories.Record{
		Root:   stories.Root{ID: id, Coordinates: "articles/0/" + id, Title: "Title " + id},
		Copies: copies, Near: copies, Publishers: len(publishers), FirstTime: day, LastTime: last, State: stories.Open,
	}
	for _, name := range publishers {
		r.ByPublisher = append(r.ByPublisher, stories.Publisher{Name: name})
	}
	return r
}

func value(t *testing.T, s stories.Record) []byte {
	t.Helper()
	v, err := json.Marshal(s)
	require.NoError(t, err)
	return v
}

// The list follows the topic: what is published between two questions is in the second answer. A recreated topic is
// read from its beginning. Records that are no stories count for nothing.
func TestList(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	kafka, topic := kafkatest.Client(t, cfg), Topic(cfg.Topics.Inputs[0])
	admin := kadm.NewClient(kafka)
	l, err := New(cfg, topic, 24*time.Hour)
	require.NoError(t, err)
	defer l.Close()
	l.now = func() time.Time { return day.Add(3 * time.Hour) }
	h := l.Handler(Path, slog.New(slog.DiscardHandler))
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	listed := func(parameters string) (ids string, a Answer) {
		code, body := get(Path + parameters)
		require.Equal(t, http.StatusOK, code, body)
		require.NoError(t, json.Unmarshal([]byte(body), &a))
		for _, s := range a.Stories {
			ids += s.Root.ID
		}
		return ids, a
	}
	code, body := get(Path)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "There is no topic "+topic)

	create := func() {
		_, err := admin.CreateTopic(t.Context(), 1, 1, nil, topic)
		require.NoError(t, err)
	}
	publish := func(s ...stories.Record) {
		for _, r := range s {
			kafkatest.Produce(t, kafka, &kgo.Record{Topic: topic, Key: []byte(r.Root.Coordinates), Value: value(t, r)})
		}
	}
	answers := func(says string) {
		require.Eventually(t, func() bool { _, body := get(Path); return strings.Contains(body, says) }, time.Minute,
			100*time.Millisecond)
	}
	create()
	labelled := story("3", 5, day.Add(2*time.Hour), "a", "b", "c")
	labelled.Labels = stories.List[stories.Label]{{Label: "false", Time: day}}
	labelled.Origin.Name = "AFP"
	publish(story("1", 1, day, "Post"), story("2", 9, day.Add(time.Hour), "Post", "Müller"),
		labelled, story("4", 7, day.Add(-48*time.Hour), "x"))
	kafkatest.Produce(t, kafka, &kgo.Record{Topic: topic, Key: []byte("foreign"), Value: []byte("{}")},
		&kgo.Record{Topic: topic, Value: []byte("no JSON")})
	answers("Title 4")
	ids, a := listed("")
	require.Equal(t, "2431", ids)
	require.Equal(t, []int{4, 4, 2}, []int{a.Matched, a.Known, a.Origins})
	require.Nil(t, a.CompleteSince)
	require.Equal(t, stories.Ended, a.Stories[1].State, "a window has passed since its last copy")
	publish(story("1", 10, day.Add(3*time.Hour), "Post"))
	for parameters, want := range map[string]string{
		"": "1243", "?sort=publishers": "3214", "?sort=last": "1324", "?sort=first": "1324", "?since=90m": "13",
		"?publisher=m%C3%9CLLER": "2", "?title=TITLE+3": "3", "?limit=2": "12", "?title=none": "",
		"?script=latin": "1243", "?script=han": "", "?lang=zh": "", "?label=false": "3", "?label=retracted": "",
	} {
		ids, _ = listed(parameters)
		require.Equal(t, want, ids, parameters)
	}
	for _, parameters := range []string{"?sort=size", "?since=yesterday", "?since=-1h", "?limit=0", "?limit=201",
		"?script=zh", "?lang=en", "?lang=zh&script=latin", "?label=wrong", "?srot=last", "/1?sort=last"} {
		code, body = get(Path + parameters)
		require.Equal(t, http.StatusBadRequest, code, parameters)
		require.Regexp(t, "^(sort|since|limit|script|lang|label) is |is no parameter", body)
	}
	for _, root := range []string{"articles/0/2", "2", url.PathEscape("articles/0/2")} {
		code, body = get(Path + "/" + root)
		require.Equal(t, http.StatusOK, code, body)
		var one stories.Record
		require.NoError(t, json.Unmarshal([]byte(body), &one))
		require.Equal(t, 9, one.Copies)
	}
	code, body = get(Path + "/articles/0/99")
	require.Equal(t, http.StatusNotFound, code)
	require.Contains(t, body, "among the 4 stories")

	_, err = admin.DeleteTopics(t.Context(), topic)
	require.NoError(t, err)
	create()
	kafka = kafkatest.Client(t, cfg) // the old one remembers the id of the old topic
	publish(story("5", 1, day, "Post"))
	answers("Title 5")
	ids, _ = listed("")
	require.Equal(t, "5", ids)
}

// The stories that changed last are kept, and the answer says since when there is none missing.
func TestBounds(t *testing.T) {
	l := newShelf("", 0)
	long := strings.Repeat("x", 100_000)
	for i := range mostStories + 100 {
		s := story(fmt.Sprint(i), 1, day, "Post")
		if i >= mostStories {
			s.Root.Title = long
		}
		l.keep(&record.Record{Key: []byte(s.Root.Coordinates), Value: value(t, s), Time: day.Add(time.Duration(i))})
		if i == mostStories-1 {
			require.True(t, l.since.IsZero())
		}
	}
	require.Equal(t, mostStories, l.stories.Len())
	require.Equal(t, day.Add(99), l.since)
	require.Nil(t, l.find("99"))
	require.NotNil(t, l.find("100"))
	for i := range 1000 {
		s := story(fmt.Sprint("long", i), 1, day, "Post")
		s.Root.Title = long
		l.keep(&record.Record{Key: []byte(s.Root.Coordinates), Value: value(t, s)})
	}
	require.LessOrEqual(t, l.bytes, mostBytes)
	require.Less(t, l.stories.Len(), 700)
}
