package watch

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"echosieve/internal/stopping"
	"echosieve/pipeline/article"
)

// warnLack is the kind of warning.
const warnLack = "other_index"

// Reporter reports what a Handover finds while a process runs. Safe for concurrent use.
type Reporter struct {
	handover *Handover
	shadow   bool // the process is one
	log      *slog.Logger
	lacking  prometheus.Gauge
	standing string // text of the warning; used by Watch only

	committed atomic.Pointer[map[article.Coordinates]string] // the latest; nil before the first Recall
}

// NewReporter returns a reporter. A nil reg leaves the metric unregistered.
func NewReporter(h *Handover, shadow bool, reg prometheus.Registerer, log *slog.Logger) *Reporter {
	return &Reporter{handover: h, shadow: shadow, log: log, lacking: promauto.With(reg).NewGauge(prometheus.GaugeOpts{
		Name: "echosieve_handover_articles",
		Help: "Articles of the last window that the group has in another index and this index lacks, at most. 0: none.",
	})}
}

// Recall takes the labels of all commits of the group.
func (r *Reporter) Recall(committed map[article.Coordinates]string) {
	r.committed.Store(&committed)
}

// Watch reports until ctx ends, as often as the monitor looks: another process may have filled or accepted the
// index. The function warn gets the kind of each warning with a text, and an empty text when the warning is over.
func (r *Reporter) Watch(ctx context.Context, warn func(kind, text string)) {
	for stopping.Wait(ctx, monitorInterval) == nil {
		r.round(ctx, warn)
	}
}

func (r *Reporter) round(ctx context.Context, warn func(kind, text string)) {
	committed := r.committed.Load()
	if committed == nil || *committed == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	lack, err := r.handover.Lack(ctx, *committed)
	if err != nil {
		r.log.Debug("the handover of the index could not be read", "err", err)
		return
	}
	text, before := "", r.standing
	r.lacking.Set(0)
	if lack != nil {
		mine := r.handover.index
		remedy := Remedy(r.shadow, mine, lack.Other)
		text = lack.Text(mine) + "; " + remedy
		r.lacking.Set(float64(lack.Articles))
		if before == "" {
			r.log.Warn("the group's articles are in another index: their copies pass as unique", "differs",
				mine.Compare(lack.Other), "articles_at_most", lack.Articles, "until", stamp(lack.Until), "remedy", remedy)
		}
	}
	if text == before {
		return
	}
	if text == "" {
		r.log.Info("this index lacks no articles of its group any more")
	}
	r.standing = text
	warn(warnLack, text)
}
