package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"echosieve/app/build"
	"echosieve/app/visible"
)

const (
	// tickInterval is the time between two events of a feed. With maxTickRows it bounds what a page shows: 24
	// verdicts a second, which is more than people can read.
	tickInterval = 500 * time.Millisecond
	// eventTimeout bounds the writing of one event. A browser that reads nothing for so long loses its feed,
	// and connects again.
	eventTimeout = 10 * time.Second
)

// serveFeed sends a page its feed as server-sent events, until the client goes away: one event "opening",
// then an event "tick" each tickInterval.
func (c *Console) serveFeed(w http.ResponseWriter, r *http.Request) {
	p, first := c.feed.open(newFilter(r.URL.Query()))
	if p == nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, fmt.Sprintf("%d pages are open, or the service stops", maxPages), http.StatusServiceUnavailable)
		return
	}
	defer c.feed.leave(p)
	first.Version, first.Recipe = build.Version(), c.recipe
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold the events back
	// send sends one event (HTML standard, section 9.2). After an error the client is gone.
	send := func(name string, data any) error {
		text, err := json.Marshal(data) // without line ends, which would end the event
		if err != nil {
			return err
		}
		control := http.NewResponseController(w)
		if err := control.SetWriteDeadline(time.Now().Add(eventTimeout)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, visible.JSON(text)); err != nil {
			return err
		}
		return control.Flush()
	}
	ticks := time.NewTicker(tickInterval)
	defer ticks.Stop()
	next := func() tick {
		t := c.feed.take(p)
		if c.Processes != nil {
			t.Processes = c.Processes()
		}
		return t
	}
	for err := send("opening", first); err == nil; err = send("tick", next()) {
		select {
		case <-ticks.C:
		case <-p.done:
			return
		case <-r.Context().Done():
			return
		}
	}
}
