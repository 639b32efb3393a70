package watch

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// gaps counts the candidates without an entry. A list that leads to no entry is harmless by itself: the entry expired before its list, a
// process ended between the two, or is about to store the entry. So only candidates of slices count whose entries cannot have expired.
// If many of them have no entry, the entries were deleted. Safe for concurrent use.
type gaps struct {
	read, missing atomic.Int64 // candidates, and those without an entry, since the count began anew
	expired       atomic.Int64 // without an entry, in other slices
}

// count counts a candidate. The argument kept says whether its entry cannot have expired.
func (g *gaps) count(missing, kept bool, metric prometheus.Counter) {
	switch {
	case kept && missing:
		metric.Inc()
		g.missing.Add(1)
		g.read.Add(1)
	case kept:
		g.read.Add(1)
	case missing:
		g.expired.Add(1)
	}
}

const (
	// gapsLeast is the least number of missing entries that is called a loss.
	gapsLeast = 20
	// gapsShare is the share of missing entries from which on it is called a loss. Ordinarily there are none: 0 of 597,000 candidates in
	// four windows of a minute, with claims that were cut off and repeated. If one claim in 200 is cut off and never run again, which no
	// redelivery leaves so, 7, 1,097, 1,395 and 1,811 of a million candidates lacked their entries in four runs
	// (BenchmarkOrdinaryGaps). In slices that do not count, where entries expire before their lists, it is up to 56,000 of a million.
	gapsShare = 0.05
	// gapsRead is the number of candidates after which counting begins anew.
	gapsRead = 1000
)

// loss says whether so many candidates lack their entries that these were deleted.
func (g *gaps) loss() bool {
	read, missing := g.read.Load(), g.missing.Load()
	lost := missing >= gapsLeast && float64(missing) >= gapsShare*float64(read)
	if lost || read >= gapsRead {
		g.read.Store(0)
		g.missing.Store(0)
	}
	return lost
}
