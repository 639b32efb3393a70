// Package storylist answers which stories there are, for programs (Path) and for the console. It knows the stories
// from their topic, so its answers are the same in each process and after each restart. It reads the topic when
// somebody asks, from where it stopped the last time; a process that nobody asks reads nothing.
package storylist

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/semaphore"

	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

// The bounds of what a List keeps and reads. 64 MiB of records take some 130 MB.
const (
	mostStories = 20_000
	mostBytes   = 64 << 20
	mostRecords = 200_000 // at the end of the topic
)

// List keeps the stories that have changed last. Safe for concurrent use.
type List struct {
	archive *tools.Archive // nil: the stories are of a file
	topic   string
	window  time.Duration
	now     func() time.Time

	reads, streams *semaphore.Weighted // of requests that follow the stories: they use no field below

	turn    *semaphore.Weighted           // of a request that uses the fields below
	id      string                        // of the topic
	next    int64                         // the offset to go on with
	stories *simplelru.LRU[string, *kept] // by the coordinates of the root, in the order in which they have changed
	bytes   int
	partial bool      // the topic holds records before the first one that was read
	since   time.Time // stories that changed earlier may be missing; zero: none is
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
	l := &List{archive: archive, topic: topic, window: window, now: time.Now,
		reads: semaphore.NewWeighted(followers), streams: semaphore.NewWeighted(mostStreams), turn: semaphore.NewWeighted(1)}
	l.clear(0)
	return l, nil
}

// Close closes the connections.
func (l *List) Close() { l.archive.Close() }

// clear forgets all stories, and goes on from an offset.
func (l *List) clear(next int64) {
	l.next, l.bytes, l.partial, l.since = next, 0, false, time.Time{}
	l.stories, _ = simplelru.NewLRU(mostStories+1, // keep removes the oldest; it fails only for sizes below 1
		func(_ string, one *kept) { l.bytes -= one.bytes })
}

// problem is the reason why there are no stories to tell, in words for people.
type problem struct{ text string }

func (p *problem) Error() string { return p.text }

// read reads what has been published since the last call. The error is a *problem, or says why Kafka cannot be read.
// What was read until ctx ended stays.
func (l *List) read(ctx context.Context) error {
	if l.archive == nil { // a file
		return nil
	}
	return l.explained(l.readTopic(ctx))
}

// explained is an error in words for people, if they can do something.
func (l *List) explained(err error) error {
	if tools.IsMissing(err) {
		return &problem{fmt.Sprintf("There is no topic %s that this user may read: it begins with the first start of "+
			"\"echosieve stories\".", l.topic)}
	}
	return err
}

// end returns the id of the topic, and the offsets that it holds.
func (l *List) end(ctx context.Context) (id string, o tools.Offsets, err error) {
	if id, err = l.archive.TopicID(ctx, l.topic); err == nil {
		o, err = l.archive.Offsets(ctx, l.topic, 0)
	}
	return id, o, err
}

func (l *List) readTopic(ctx context.Context) error {
	id, offsets, err := l.end(ctx)
	if err != nil {
		return err
	}
	if offsets.Next < l.next || id != l.id { // somebody has recreated the topic
		l.clear(0)
		l.id = id
	}
	first := max(offsets.First, offsets.Next-mostRecords)
	if l.next < first {
		l.clear(first)
		l.partial = first > offsets.First
	}
	from := article.Coordinates{Topic: l.topic, Offset: l.next}
	err = l.archive.Read(ctx, from, offsets.Next, func(r *record.Record) error {
		l.keep(r)
		return ctx.Err()
	})
	if ctx.Err() != nil && offsets.Next > first {
		return &problem{fmt.Sprintf("The stories are being read: %d %% so far. Ask again.",
			100*(l.next-first)/(offsets.Next-first))}
	}
	if err == nil {
		l.next = offsets.Next
	}
	return err
}
