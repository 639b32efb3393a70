package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

// labels returns the label values of publishers that are exposed, sorted.
func labels(t *testing.T, reg *prometheus.Registry) []string {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	var values []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "publisher" {
					values = append(values, l.GetValue())
				}
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

func publishedBy(publisher string, kind article.Kind) *Output {
	return &Output{Content: article.Content{ID: "a", Publisher: publisher}, Verdict: article.Verdict{Kind: kind}}
}

func counts(s *publisherCounter, publisher string, n int) {
	for range n {
		s.count(publishedBy(publisher, article.Near))
	}
}

func TestPublishersBeyondTheLimitCountAsOther(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := newPublisherCounter(2, reg)
	counts(s, "a", 1)
	counts(s, "b", 2)
	for i := range 3 * maxRecentPublishers {
		counts(s, fmt.Sprint("c", i), 1)
	}
	counts(s, "", 4)
	require.Equal(t, []string{"a", "b", "none", "other"}, labels(t, reg))
	for publisher, want := range map[string]int{"a": 1, "b": 2, "none": 4, "other": 3 * maxRecentPublishers} {
		require.InDelta(t, want, testutil.ToFloat64(s.counter.WithLabelValues(publisher, "near")), 0, publisher)
		require.Zero(t, testutil.ToFloat64(s.counter.WithLabelValues(publisher, "unique")), publisher)
	}
	require.Len(t, s.recent, maxRecentPublishers, "memory is bounded")
}

func TestTheMostFrequentPublishersGetLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s := newPublisherCounter(2, reg)
		counts(s, "early", 1)
		counts(s, "steady", 20)
		counts(s, "large", 30)
		counts(s, "larger", 40)
		counts(s, "middle", 19)
		time.Sleep(rankInterval - time.Second)
		counts(s, "large", 1)
		require.Equal(t, []string{"early", "none", "other", "steady"}, labels(t, reg), "nothing changes within an hour")

		// By articles: larger, large, steady, middle, early. Only early is not among the first four, so only
		// one publisher can move in.
		time.Sleep(time.Second)
		counts(s, "larger", 1)
		require.Equal(t, []string{"larger", "none", "other", "steady"}, labels(t, reg))
		require.InDelta(t, 1, testutil.ToFloat64(s.counter.WithLabelValues("larger", "near")), 0)

		// In this hour there was no article of steady.
		counts(s, "new", 5)
		time.Sleep(rankInterval)
		counts(s, "new", 1)
		require.Equal(t, []string{"larger", "new", "none", "other"}, labels(t, reg))
	})
}

// A crawler decides what a publisher is called. Prometheus refuses label values that are not UTF-8, and keeps
// long ones in memory.
func TestHostileNamesOfPublishers(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := newPublisherCounter(9, reg)
	for _, name := range []string{"\xff\xfe", strings.Repeat("x", 1<<20), strings.Repeat("新", 1000), "a\xffb",
		"other", "none"} {
		s.count(publishedBy(name, article.Unique))
	}
	require.NotContains(t, s.named, "other")
	require.NotContains(t, s.named, "none")
	require.Equal(t, []string{"ab", "none", "other", strings.Repeat("x", 64), strings.Repeat("新", 21)}, labels(t, reg))
}
