package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"echosieve/pipeline/article"
)

const (
	// roundInterval is the time between two looks at Redis, where another process may have filled or accepted
	// the index.
	roundInterval = 3 * time.Second
	roundTimeout  = 5 * time.Second
	// quiet is how long after the latest commit of another process its warning stands: partitions without
	// articles commit nothing.
	quiet = 5 * time.Minute
)

// The kinds of warning.
const (
	warnLack  = "other_index"
	warnOther = "other_settings"
)

// Reporter reports what a Handover finds while a process runs. Safe for concurrent use.
type Reporter struct {
	handover *Handover
	shadow   bool // the process is one
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

// NewReporter returns a reporter. A nil reg leaves the metrics unregistered.
func NewReporter(h *Handover, shadow bool, reg prometheus.Registerer, log *slog.Logger) *Reporter {
	factory := promauto.With(reg)
	return &Reporter{
		handover: h, shadow: shadow, log: log, wake: make(chan struct{}, 1), standing: map[string]string{},
		lacking: factory.NewGauge(prometheus.GaugeOpts{
			Name: "echosieve_handover_articles",
			Help: "Articles of the last window that the group has in another index and this index lacks, at most. 0: none.",
		}),
		other: factory.NewGauge(prometheus.GaugeOpts{
			Name: "echosieve_handover_other_settings_timestamp_seconds",
			Help: "When a process of the group last committed articles that it had decided with other settings, so " +
				"in another index. Seconds since 1970; 0: never.",
		}),
	}
}

// Recall takes the labels of all commits of the group.
func (r *Reporter) Recall(committed map[article.Coordinates]string) {
	r.mu.Lock()
	before := byPartition(r.committed)
	for partition, commit := range byPartition(committed) {
		if r.committed == nil || before[partition] == commit {
			continue // before this process watched, or long ago
		}
		if other, is := otherOf(labelIn(commit), r.handover.index); is {
			r.seen, r.differs = time.Now(), r.handover.index.Compare(other)
		}
	}
	r.committed = committed
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default: // it is woken already
	}
}

// Watch reports until ctx ends. The function warn gets the kind of each warning with a text, and an empty
// text when the warning is over.
func (r *Reporter) Watch(ctx context.Context, warn func(kind, text string)) {
	tick := time.NewTicker(roundInterval)
	defer tick.Stop()
	for {
		select {
		case <-r.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		r.round(ctx, warn)
	}
}

func (r *Reporter) round(ctx context.Context, warn func(kind, text string)) {
	r.mu.Lock()
	committed, seen, differs := r.committed, r.seen, r.differs
	r.mu.Unlock()
	if committed == nil {
		return
	}
	r.reportOther(seen, differs, warn)
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	lack, err := r.handover.Lack(ctx, committed)
	if err != nil {
		r.log.Debug("the handover of the index could not be read", "err", err)
		return
	}
	r.reportLack(lack, warn)
}

// reportOther reports a process with other settings, whose commit was last seen to change at a time.
func (r *Reporter) reportOther(seen time.Time, differs string, warn func(kind, text string)) {
	text := ""
	if time.Since(seen) < quiet {
		r.other.Set(float64(seen.Unix()))
		text = "another process of this group runs with other settings: " + differs +
			"; give all processes of the group the same settings"
	}
	switch before := r.set(warn, warnOther, text); {
	case before == "" && text != "":
		r.log.Warn("another process of this group runs with other settings: the processes do not see each other's "+
			"articles", "differs", differs,
			"remedy", "give all processes of the group the same settings")
	case before != "" && text == "":
		r.log.Info("no process of this group commits with other settings any more")
	}
}

func (r *Reporter) reportLack(lack *Lack, warn func(kind, text string)) {
	if lack == nil {
		r.lacking.Set(0)
		if r.set(warn, warnLack, "") != "" {
			r.log.Info("this index lacks no articles of its group any more")
		}
		return
	}
	mine := r.handover.index
	remedy := Remedy(r.shadow, mine, lack.Other)
	r.lacking.Set(float64(lack.Articles))
	if r.set(warn, warnLack, lack.Text(mine)+"; "+remedy) == "" {
		r.log.Warn("the group's articles are in another index: their copies pass as unique", "differs",
			mine.Compare(lack.Other),
			"articles_at_most", lack.Articles, "until", lack.Until.UTC().Format(time.RFC3339), "remedy", remedy)
	}
}

// set sets the text of a warning, empty if there is none, and returns the text before.
func (r *Reporter) set(warn func(kind, text string), kind, text string) (before string) {
	if before = r.standing[kind]; before != text {
		r.standing[kind] = text
		warn(kind, text)
	}
	return before
}
