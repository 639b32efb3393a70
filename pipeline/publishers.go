package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/article"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Label values of publishers without a label value of their own.
const (
	publisherOther = "other" // not among the most frequent publishers
	publisherNone  = "none"  // the record has no publisher
)

const (
	// rankInterval is the time after which the label values may change.
	rankInterval = time.Hour
	// maxRecentPublishers bounds the memory for counting: publishers that first appear after so many others
	// have no rank until the next interval. 10,000 names of 64 bytes take about 2 MB.
	maxRecentPublishers = 10_000
)

// publisherCounter counts verdicts by the publishers of the articles. Names of publishers come from crawlers
// and have no bound, but each label value costs Prometheus memory for as long as it keeps data. Therefore
// only the publishers with the most articles have a label value of their own. Safe for concurrent use; a nil
// publisherCounter counts nothing.
type publisherCounter struct {
	counter *prometheus.CounterVec
	limit   int // most publishers with a label value of their own

	mu     sync.Mutex
	named  map[string]bool // publishers with a label value of their own, at most limit
	recent map[string]int  // articles by publisher since ranked
	ranked time.Time
}

// newPublisherCounter returns nil if limit is 0.
func newPublisherCounter(limit int, reg prometheus.Registerer) *publisherCounter {
	if limit == 0 {
		return nil
	}
	s := &publisherCounter{
		counter: promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
			Name: "echosieve_pipeline_publisher_records_total",
			Help: "Articles with an acknowledged verdict, by publisher: the most frequent publishers of the last " +
				"hours, and other.",
		}, []string{"publisher", "verdict"}),
		limit: limit, named: map[string]bool{}, recent: map[string]int{}, ranked: time.Now(),
	}
	s.expose(publisherOther)
	s.expose(publisherNone)
	return s
}

// expose creates the time series of a label value, at 0 where they are new.
func (s *publisherCounter) expose(label string) {
	for _, kind := range []article.Kind{article.Unique, article.Possible, article.Near, article.Exact} {
		s.counter.WithLabelValues(label, kind.String())
	}
}

// publisherName returns the name under which an article is counted: short and valid UTF-8. People read /metrics on
// terminals: U+FFFD stands for every character that is not to be seen. It is publisherNone if the article names none.
func publisherName(publisher string) string {
	return cmp.Or(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, article.PublisherOf(publisher, "")), publisherNone)
}

// count counts the verdict of an output, unless it is a tombstone or a dead letter.
func (s *publisherCounter) count(o *Output) {
	if s == nil || o.Content.ID == "" {
		return
	}
	name := publisherName(o.Content.Publisher)
	// The counter is increased under the lock. Otherwise rank could remove the label value in between, and
	// the increase would bring it back permanently.
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counter.WithLabelValues(s.label(name), o.VerdictName()).Inc()
}

// label counts an article of the publisher and returns the publisher's label value. A publisher gets a free
// label value at once.
func (s *publisherCounter) label(publisher string) string {
	switch publisher { // a crawler may use these names, too
	case publisherNone, publisherOther:
		return publisher
	}
	if now := time.Now(); now.Sub(s.ranked) >= rankInterval {
		s.rank()
		s.ranked = now
	}
	if n, known := s.recent[publisher]; known || len(s.recent) < maxRecentPublishers {
		s.recent[publisher] = n + 1
	}
	if !s.named[publisher] && len(s.named) < s.limit {
		s.named[publisher] = true
		s.expose(publisher)
	}
	if s.named[publisher] {
		return publisher
	}
	return publisherOther
}

// rank gives label values to the s.limit most frequent recent publishers. It takes them from publishers that
// are not among the 2 * s.limit most frequent ones: two publishers with about the same number of articles
// would otherwise replace each other every hour.
func (s *publisherCounter) rank() {
	order := slices.SortedFunc(maps.Keys(s.recent), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.recent[b], s.recent[a]), cmp.Compare(a, b))
	})
	stays := order[:min(2*s.limit, len(order))]
	var leaves []string
	for publisher := range s.named {
		if !slices.Contains(stays, publisher) {
			leaves = append(leaves, publisher)
		}
	}
	for _, publisher := range order[:min(s.limit, len(order))] {
		if s.named[publisher] {
			continue
		}
		if len(s.named) == s.limit {
			if len(leaves) == 0 {
				break
			}
			delete(s.named, leaves[0])
			s.counter.DeletePartialMatch(prometheus.Labels{"publisher": leaves[0]})
			leaves = leaves[1:]
		}
		s.named[publisher] = true
		s.expose(publisher)
	}
	clear(s.recent)
}
