package projector

import (
	"context"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/stories"
)

// Metrics are those of all projectors of a process.
type Metrics struct {
	records   *prometheus.CounterVec
	published prometheus.Counter
	unread    prometheus.Counter
	rebuilds  *prometheus.CounterVec
}

// Began counts an edition of stories that began while the process ran. lost says that Redis had lost the last one.
func (m *Metrics) Began(lost bool) {
	cause := causeAsked
	if lost {
		cause = causeLost
	}
	m.rebuilds.WithLabelValues(cause).Inc()
}

// The results of records of the output topics, as label values.
const (
	resultCopy    = "copy"
	resultRelated = "related"
	resultLabel   = "label"
	resultNone    = "none"    // the record belongs to no story: it repeats nothing, or has a null value
	resultForeign = "foreign" // the record is not from Echosieve, or its headers are damaged
)

// The causes of rebuilds, as label values.
const (
	causeAsked = "asked" // with --rebuild, or another process has found the loss
	causeLost  = "lost"
)

// NewMetrics registers the metrics, unless reg is nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		records: promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
			Name: "echosieve_stories_records_total",
			Help: "Records of the output topics that were read for stories, repeated ones too, by what they are.",
		}, []string{"result"}),
		published: promauto.With(reg).NewCounter(prometheus.CounterOpts{
			Name: "echosieve_stories_published_total",
			Help: "Snapshots of stories that brokers have acknowledged.",
		}),
		unread: promauto.With(reg).NewCounter(prometheus.CounterOpts{
			Name: "echosieve_stories_unread_times_total",
			Help: "Articles whose time of publication could not be read: the timestamp of the record stands for it.",
		}),
		rebuilds: promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
			Name: "echosieve_stories_rebuilds_total",
			Help: "Times that a running process began the stories anew, by cause.",
		}, []string{"cause"}),
	}
	for _, cause := range []string{causeAsked, causeLost} {
		m.rebuilds.WithLabelValues(cause)
	}
	for _, result := range []string{resultCopy, resultRelated, resultLabel, resultNone, resultForeign} {
		m.records.WithLabelValues(result)
	}
	return m
}

// registry is the component of the server of schemas.
const registry = "registry"

// read returns the stories that records of an output topic touch, in the order of their first records, and counts what
// the records are.
func (p *Projector) read(ctx context.Context, records []record.Record) (*work, error) {
	w := &work{results: map[string]int{}}
	places := map[article.Coordinates]*Entry{}
	for i := range records {
		root, add, result, err := p.parse(ctx, &records[i])
		if err != nil {
			return nil, err
		}
		w.results[result]++
		if result == resultNone || result == resultForeign {
			continue
		}
		t := places[root.Coordinates]
		if t == nil {
			t = &Entry{Of: root}
			w.stories, places[root.Coordinates] = append(w.stories, t), t
		}
		t.added = append(t.added, add)
	}
	return w, nil
}

// parse reads one record, and returns what adds it to the story of a root. The error is that of the server of schemas.
func (p *Projector) parse(ctx context.Context, r *record.Record) (root article.Ref, add func(*stories.Story),
	result string, err error,
) {
	place := stories.Position{Topic: p.Topic(), Partition: r.Partition, Offset: r.Offset}
	if p.Labels {
		at, label, bad := stories.ParseLabel(r)
		if bad != nil {
			return root, nil, resultForeign, nil //nolint:nilerr // as below
		}
		add = func(s *stories.Story) { s.Label(place, label) }
		return article.Ref{ID: at.String(), Coordinates: at}, add, resultLabel, nil
	}
	says, bad := pipeline.ParseHeaders(r.Headers)
	root, found := stories.RootOf(&says.Verdict)
	switch {
	case bad != nil:
		return root, nil, resultForeign, nil //nolint:nilerr // a record of somebody else is counted, and no error
	case says.Reject != nil, !found:
		return root, nil, resultNone, nil //nolint:nilerr // bad is nil here
	}
	var a stories.Article
	input := *r // an article without an id is named by its coordinates
	input.Coordinates = says.Input
	err = p.patiently(ctx, registry, "schema of "+r.String(), func() error {
		// An article that cannot be read any more, such as one whose schema is gone, counts without its facts.
		return p.Decoder.With(ctx, &input, func(content article.Content, reject *record.RejectError) {
			a = p.Rules.Describe(article.Ref{ID: content.ID, Coordinates: says.Input}, content, r.Time)
			if content.UnreadTime != "" {
				p.Metrics.unread.Inc()
			}
			if !says.Verdict.Kind.IsCopy() && reject == nil {
				keepRoot(p.Roots, a)
			}
		})
	})
	switch kind := says.Verdict.Kind; kind {
	case article.Unique:
		return root, nil, resultNone, err
	case article.Possible:
		return root, func(s *stories.Story) { s.Relate(place, a) }, resultRelated, err
	default:
		c := stories.Copy{Article: a, Exact: kind == article.Exact, Relation: says.Verdict.Relation}
		return root, func(s *stories.Story) { s.Add(place, c, p.Rules) }, resultCopy, err
	}
}

const (
	// maxRoots is the number of articles that Roots keeps, and maxRootBytes the longest texts of one: together they take
	// some 10 MB, at most 40 MB.
	maxRoots     = 20_000
	maxRootBytes = 2048
)

// Roots keeps the facts of articles that were read as unique: most copies follow their root soon. The root of another
// new story is read from Kafka, which costs as much as a hundred copies.
type Roots = lru.Cache[article.Coordinates, stories.Article]

// NewRoots returns a cache without roots.
func NewRoots() *Roots {
	r, _ := lru.New[article.Coordinates, stories.Article](maxRoots) // fails for sizes below one
	return r
}

func keepRoot(r *Roots, a stories.Article) {
	if len(a.Publisher)+len(a.Title)+len(a.URL) > maxRootBytes {
		return
	}
	// The texts are parts of the record's value.
	a.ID, a.Publisher = "", strings.Clone(a.Publisher)
	a.Title, a.URL = strings.Clone(a.Title), strings.Clone(a.URL)
	r.Add(a.Coordinates, a)
}
