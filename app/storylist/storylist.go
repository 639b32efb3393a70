// Package storylist answers which stories there are, for programs (Path) and for the console. It knows the stories
// from their topic, so its answers are the same in each process and after each restart. It reads the topic when
// somebody asks, from where it stopped the last time; a process that nobody asks reads nothing.
package storylist

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"golang.org/x/sync/semaphore"

	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/stories"
)

// mostRecords bounds what is read of the end of the topic.
const mostRecords = 200_000

// List answers requests for the stories of a topic, or of a file. Safe for concurrent use.
type List struct {
	archive *tools.Archive // nil: the stories are of a file
	topic   string
	window  time.Duration
	now     func() time.Time

	reads, streams *semaphore.Weighted // of requests that follow the stories: they do not use the shelf

	turn  *semaphore.Weighted // of a request that uses the shelf
	shelf *shelf
}

// Topic returns the name that the topic of stories has by default.
func Topic(input string) string { return input + "-stories" }

// New returns the list of the stories in a topic. It does not dial. The caller closes it. window is that of the
// service: a story without an article for so long has ended.
func New(cfg broker.Config, topic string, window time.Duration) (*List, error) {
	archive, err := tools.NewArchive(cfg, topic)
	if err != nil {
		return nil, err
	}
	return &List{archive: archive, topic: topic, window: window, now: time.Now,
		reads: semaphore.NewWeighted(followers), streams: semaphore.NewWeighted(mostStreams),
		turn: semaphore.NewWeighted(1), shelf: newShelf("", 0)}, nil
}

// mostLine bounds a line of FromFile, in bytes.
const mostLine = 1 << 20

// FromFile returns the list of the stories that filter --stories has written, for a process that has no Kafka. The list
// does not change, so nobody can follow it.
func FromFile(in io.Reader) (*List, error) {
	s := newShelf("", 0)
	lines := bufio.NewScanner(in)
	for lines.Buffer(nil, mostLine); lines.Scan(); {
		var named struct {
			Root struct {
				Coordinates string `json:"coordinates"`
			} `json:"root"`
		}
		r := record.Record{Value: append([]byte(nil), lines.Bytes()...)}
		r.Offset = s.next
		if json.Unmarshal(r.Value, &named) == nil {
			r.Key = []byte(named.Root.Coordinates)
		}
		if parse(&r) == nil {
			return nil, fmt.Errorf("line %d is no story: name a file that \"echosieve filter --stories\" has written", s.next+1)
		}
		s.keep(&r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", s.next+1, err)
	}
	return &List{window: math.MaxInt64, now: time.Now, turn: semaphore.NewWeighted(1), shelf: s}, nil
}

// Close closes the connections.
func (l *List) Close() { l.archive.Close() }

// end returns the id of the topic, and the offsets that it holds.
func (l *List) end(ctx context.Context) (id string, o tools.Offsets, err error) {
	if id, err = l.archive.TopicID(ctx, l.topic); err == nil {
		o, err = l.archive.Offsets(ctx, l.topic, 0)
	}
	return id, o, err
}

// read reads what has been published since the last call. The error is a *problem, or says why Kafka cannot be read.
// What was read until ctx ended stays.
func (l *List) read(ctx context.Context) error {
	if l.archive == nil { // a file
		return nil
	}
	id, offsets, err := l.end(ctx)
	if err != nil {
		return err
	}
	if offsets.Next < l.shelf.next || id != l.shelf.id { // somebody has recreated the topic
		l.shelf = newShelf(id, 0)
	}
	first := max(offsets.First, offsets.Next-mostRecords)
	if l.shelf.next < first {
		l.shelf = newShelf(id, first)
		l.shelf.partial = first > offsets.First
	}
	s := l.shelf
	from := article.Coordinates{Topic: l.topic, Offset: s.next}
	err = l.archive.Read(ctx, from, offsets.Next, func(r *record.Record) error {
		s.keep(r)
		return ctx.Err()
	})
	if ctx.Err() != nil && offsets.Next > first {
		return unavailable("The stories are being read: %d %% so far. Ask again.",
			100*(s.next-first)/(offsets.Next-first))
	}
	if err == nil {
		s.next = offsets.Next
	}
	return err
}

// latest reads what is new, and returns what answer makes of the shelf. One request after the other does so.
func (l *List) latest(ctx context.Context, answer func(*shelf) (any, error)) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if l.turn.Acquire(ctx, 1) != nil {
		return nil, errBusy
	}
	defer l.turn.Release(1)
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	return answer(l.shelf)
}

// told is the story as it is now.
func (l *List) told(one *kept) stories.Record {
	r := one.Record
	if l.now().Sub(r.LastTime) > l.window {
		r.State = stories.Ended // nobody publishes a story again because it has ended
	}
	return r
}
