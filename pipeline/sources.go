package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"echosieve/pipeline/article"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Label values of sources without a label value of their own.
const (
	sourceOther = "other" // not among the most frequent sources
	sourceNone  = "none"  // the record has no source
)

const (
	// rankInterval is the time after which the label values may change.
	rankInterval = time.Hour
	// maxRecentSources bounds the memory for counting: sources that first appear after so many others have no rank until the next
	// interval. 10,000 names of 64 bytes take about 2 MB.
	maxRecentSources = 10_000
	// maxSourceBytes is the longest label value. Longer names are cut.
	maxSourceBytes = 64
)

// sourceCounter counts verdicts by the sources of the articles. Names of sources come from crawlers and have no bound, but each label
// value costs Prometheus memory for as long as it keeps data. Therefore only the sources with the most articles have a label value of their
// own. Safe for concurrent use; a nil sourceCounter counts nothing.
type sourceCounter struct {
	counter *prometheus.CounterVec
	limit   int // most sources with a label value of their own

	mu     sync.Mutex
	named  map[string]bool // sources with a label value of their own, at most limit
	recent map[string]int  // articles by source since ranked
	ranked time.Time
}

// newSourceCounter returns nil if limit is 0.
func newSourceCounter(limit int, reg prometheus.Registerer) *sourceCounter {
	if limit == 0 {
		return nil
	}
	s := &sourceCounter{
		counter: promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
			Name: "echosieve_pipeline_source_records_total",
			Help: "Articles with an acknowledged verdict, by source: the most frequent sources of the last hours, and other.",
		}, []string{"source", "verdict"}),
		limit: limit, named: map[string]bool{}, recent: map[string]int{}, ranked: time.Now(),
	}
	s.expose(sourceOther)
	s.expose(sourceNone)
	return s
}

// expose creates the time series of a label value, at 0 where they are new.
func (s *sourceCounter) expose(label string) {
	for _, kind := range []article.Kind{article.Unique, article.Possible, article.Near, article.Exact} {
		s.counter.WithLabelValues(label, kind.String())
	}
}

// name returns the name under which an article of the source is counted: short, valid UTF-8, and without a reference to the record that it
// was read from. It is sourceNone if the article names no source, and empty if nothing is counted.
func (s *sourceCounter) name(source string) string {
	if s == nil {
		return ""
	}
	return strings.Clone(cmp.Or(strings.ToValidUTF8(source[:min(len(source), maxSourceBytes)], ""), sourceNone))
}

// count counts one verdict on an article. The name is that of its source; nothing is counted if it is empty.
func (s *sourceCounter) count(name, verdict string) {
	if name == "" {
		return
	}
	// The counter is increased under the lock. Otherwise rank could remove the label value in between, and the increase would bring it
	// back permanently.
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counter.WithLabelValues(s.label(name), verdict).Inc()
}

// label counts an article of the source and returns the source's label value. A source gets a free label value at once.
func (s *sourceCounter) label(source string) string {
	switch source { // a crawler may use these names, too
	case sourceNone, sourceOther:
		return source
	}
	if now := time.Now(); now.Sub(s.ranked) >= rankInterval {
		s.rank()
		s.ranked = now
	}
	if n, known := s.recent[source]; known || len(s.recent) < maxRecentSources {
		s.recent[source] = n + 1
	}
	if !s.named[source] && len(s.named) < s.limit {
		s.named[source] = true
		s.expose(source)
	}
	if s.named[source] {
		return source
	}
	return sourceOther
}

// rank gives label values to the s.limit most frequent recent sources. It takes them from sources that are not among the 2 * s.limit most
// frequent ones: two sources with about the same number of articles would otherwise replace each other every hour.
func (s *sourceCounter) rank() {
	order := slices.SortedFunc(maps.Keys(s.recent), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.recent[b], s.recent[a]), cmp.Compare(a, b))
	})
	stays := order[:min(2*s.limit, len(order))]
	var leaves []string
	for source := range s.named {
		if !slices.Contains(stays, source) {
			leaves = append(leaves, source)
		}
	}
	for _, source := range order[:min(s.limit, len(order))] {
		if s.named[source] {
			continue
		}
		if len(s.named) == s.limit {
			if len(leaves) == 0 {
				break
			}
			delete(s.named, leaves[0])
			s.counter.DeletePartialMatch(prometheus.Labels{"source": leaves[0]})
			leaves = leaves[1:]
		}
		s.named[source] = true
		s.expose(source)
	}
	clear(s.recent)
}
