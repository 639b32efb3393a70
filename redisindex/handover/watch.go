package handover

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"echosieve/pipeline/article"
)

const (
	// roundInterval is the time between two looks at Redis, where another process may have filled or accepted the index.
	roundInterval = 3 * time.Second
	roundTimeout  = 5 * time.Second
	// quiet is how long after the latest commit of another process its warning stands: partitions without articles commit nothing.
	quiet = 5 * time.Minute
)

// The kinds of warning.
const (
	warnLack  = "other_index"
	warnOther = "other_settings"
)

// Watcher reports what a Handover finds while a process runs. Safe for concurrent use.
type Watcher struct {
	handover *Handover
	cure     Cure
	log      *slog.Logger
	lacking  prometheus.Gauge
	other    prometheus.Gauge
	wake     chan struct{}
	standing map[string]string // texts of the warnings, by kind; used by Watch only

	mu        sync.Mutex
	committed map[article.Coordinates]string // the latest; nil before the first Recall
	differs   string                         // how the process with other settings differs
	seen      time.Time                      // when a commit of it was last seen to change
}

// NewWatcher returns a watcher. A nil reg leaves the metrics unregistered.
func NewWatcher(h *Handover, cure Cure, reg prometheus.Registerer, log *slog.Logger) (*Watcher, error) {
	w := &Watcher{
		handover: h, cure: cure, log: log, wake: make(chan struct{}, 1), standing: map[string]string{},
		lacking: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "echosieve_handover_articles",
			Help: "At most so many articles of the last window stand in another index and not in this one; 0: none.",
		}),
		other: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "echosieve_handover_other_settings_timestamp_seconds",
			Help: "When another process of the group last committed articles that it decided in another index, in seconds since 1970; 0: never.",
		}),
	}
	if reg == nil {
		return w, nil
	}
	for _, m := range []prometheus.Collector{w.lacking, w.other} {
		if err := reg.Register(m); err != nil {
			return nil, fmt.Errorf("handover: %w", err)
		}
	}
	return w, nil
}

// Recall takes the notes of all commits of the group.
func (w *Watcher) Recall(committed map[article.Coordinates]string) {
	w.mu.Lock()
	before := byPlace(w.committed)
	for place, commit := range byPlace(committed) {
		if w.committed == nil || before[place] == commit {
			continue // before this process watched, or long ago
		}
		if other, is := otherOf(noteIn(commit), w.handover.index); is {
			w.seen, w.differs = time.Now(), w.handover.index.Compare(other)
		}
	}
	w.committed = committed
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default: // it is woken already
	}
}

// Watch reports until ctx ends. The function warn gets the kind of each warning with a text, and an empty text when the warning is over.
func (w *Watcher) Watch(ctx context.Context, warn func(kind, text string)) {
	tick := time.NewTicker(roundInterval)
	defer tick.Stop()
	for {
		select {
		case <-w.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		w.round(ctx, warn)
	}
}

func (w *Watcher) round(ctx context.Context, warn func(kind, text string)) {
	w.mu.Lock()
	committed, seen, differs := w.committed, w.seen, w.differs
	w.mu.Unlock()
	if committed == nil {
		return
	}
	w.reportOther(seen, differs, warn)
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	lack, err := w.handover.Lack(ctx, committed)
	if err != nil {
		w.log.Debug("the handover of the index could not be read", "err", err)
		return
	}
	w.reportLack(lack, warn)
}

// reportOther reports a process with other settings, whose commit was last seen to change at a time.
func (w *Watcher) reportOther(seen time.Time, differs string, warn func(kind, text string)) {
	text := ""
	if time.Since(seen) < quiet {
		w.other.Set(float64(seen.Unix()))
		text = "another process of this group runs with other settings: " + differs + "; give all processes of the group the same settings"
	}
	switch before := w.set(warn, warnOther, text); {
	case before == "" && text != "":
		w.log.Warn("another process of this group runs with other settings: the processes do not see each other's articles", "differs", differs,
			"remedy", "give all processes of the group the same settings")
	case before != "" && text == "":
		w.log.Info("no process of this group commits with other settings any more")
	}
}

func (w *Watcher) reportLack(lack *Lack, warn func(kind, text string)) {
	if lack == nil {
		w.lacking.Set(0)
		if w.set(warn, warnLack, "") != "" {
			w.log.Info("this index lacks no articles of its group any more")
		}
		return
	}
	mine := w.handover.index
	remedy := w.cure.Remedy(mine, lack.Other)
	w.lacking.Set(float64(lack.Articles))
	if w.set(warn, warnLack, lack.Text(mine)+"; "+remedy) == "" {
		w.log.Warn("the group's articles are in another index: their copies pass as unique", "differs", mine.Compare(lack.Other),
			"articles_at_most", lack.Articles, "until", lack.Until.UTC().Format(time.RFC3339), "remedy", remedy)
	}
}

// set sets the text of a warning, empty if there is none, and returns the text before.
func (w *Watcher) set(warn func(kind, text string), kind, text string) (before string) {
	if before = w.standing[kind]; before != text {
		w.standing[kind] = text
		warn(kind, text)
	}
	return before
}
