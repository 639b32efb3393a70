package storylist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/stories"
)

const (
	followers   = 4               // reads of the topic at a time: each may hold a response of Kafka
	mostStreams = 16              // streams at a time
	streamPoll  = 2 * time.Second // how often a stream asks Kafka for what is new
	streamLasts = 15 * time.Minute
)

// Changes is the answer to a request that follows the stories. Its JSON names must not change.
type Changes struct {
	Stories []stories.Record `json:"stories"` // as they were after each change, the earliest change first
	Next    string           `json:"next"`    // the cursor to go on with
	More    bool             `json:"more"`    // there is more now
	// Reset says that the cursor leads to what is no longer kept, or is of another topic. The stories then begin with the
	// earliest that is kept.
	Reset bool `json:"reset,omitempty"`

	cursors []string // behind each of Stories
}

// cursor names a place in a topic: the id of the topic, and an offset.
func cursor(topic string, offset int64) string { return fmt.Sprintf("%s.%d", topic, offset) }

// parseCursor is the inverse of cursor.
func parseCursor(s string) (topic string, offset int64, err error) {
	topic, number, _ := strings.Cut(s, ".")
	if offset, err = strconv.ParseInt(number, 10, 64); err != nil || offset < 0 || topic == "" {
		return "", 0, wrong(`after is a cursor: "next" of an earlier answer, or the id of an event`)
	}
	return topic, offset, nil
}

// errEnough ends a read.
var errEnough = errors.New("enough")

// follow returns the changes behind the cursor of a query that the query selects; without a cursor none, but the cursor
// of the end. It shares nothing with other requests but the connections.
func (l *List) follow(ctx context.Context, q *query) (*Changes, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := l.reads.Acquire(ctx, 1); err != nil {
		return nil, errBusy
	}
	defer l.reads.Release(1)
	id, offsets, err := l.end(ctx)
	if err != nil {
		return nil, err
	}
	c := &Changes{Stories: []stories.Record{}}
	at := offsets.Next
	if q.after != "" {
		var topic string
		if topic, at, err = parseCursor(q.after); err != nil {
			return nil, err
		}
		if topic != id || at < offsets.First || at > offsets.Next {
			c.Reset, at = true, offsets.First
		}
	}
	began := at
	from := article.Coordinates{Topic: l.topic, Offset: at}
	err = l.archive.Read(ctx, from, offsets.Next, func(r *record.Record) error {
		one := parse(r)
		if one != nil && q.selects(one) {
			if len(c.Stories) == q.limit {
				return errEnough
			}
			c.Stories, c.cursors = append(c.Stories, l.told(one)), append(c.cursors, cursor(id, r.Offset+1))
		}
		at = r.Offset + 1
		return ctx.Err()
	})
	if err == nil {
		at = offsets.Next
	} else if !errors.Is(err, errEnough) && (ctx.Err() == nil || at == began) {
		return nil, err
	}
	c.Next, c.More = cursor(id, at), at < offsets.Next
	return c, nil
}

// stream sends the changes as events until the client or the time is gone. The id of an event is the cursor behind
// it. An event without data moves the cursor on, and shows that the connection lives. After an error nothing was sent.
func (l *List) stream(w http.ResponseWriter, r *http.Request, q *query, log *slog.Logger) error {
	if !l.streams.TryAcquire(1) {
		return unavailable("%d clients follow the stories already. Ask again, or ask with after=.", mostStreams)
	}
	defer l.streams.Release(1)
	to := http.NewResponseController(w)
	poll := time.NewTicker(streamPoll)
	defer poll.Stop()
	for end, first := time.Now().Add(streamLasts), true; time.Now().Before(end); first = false {
		c, err := l.follow(r.Context(), q)
		switch {
		case err != nil && first:
			return err
		case err != nil: // the client comes again with its cursor
			log.Warn("a stream of stories has ended", "err", err)
			return nil
		case first:
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-store")
		}
		_ = to.SetWriteDeadline(time.Now().Add(timeout)) // without it the time of the listener ends the stream
		_, err = w.Write(events(c))
		if err != nil || to.Flush() != nil {
			return nil
		}
		if q.after = c.Next; c.More {
			continue
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-poll.C:
		}
	}
	return nil
}

// events writes changes as server-sent events.
func events(c *Changes) (out []byte) {
	if c.Reset {
		out = append(out, "event: reset\ndata: {}\n\n"...)
	}
	for i := range c.Stories {
		data, _ := json.Marshal(&c.Stories[i]) // strings and numbers
		out = fmt.Appendf(out, "id: %s\ndata: %s\n\n", c.cursors[i], data)
	}
	return fmt.Appendf(out, "id: %s\n\n", c.Next)
}
