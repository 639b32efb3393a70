package redisindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/redisrig"
)

// load claims articles in families of copies on several indexes, while a test makes servers fail. Each index
// has a client of its own, as in separate processes. Some articles are claimed again, also during their first
// claim.
type load struct {
	indexes []*Index
	stop    chan struct{}
	workers sync.WaitGroup

	mu       sync.Mutex
	r        *rand.Rand
	families [][]article.Article
	claims   []article.Article
	verdicts map[article.Coordinates][]article.Verdict
	decided  int
	failed   error
}

// startLoad starts about 800 claims a second. The test ends them with account.
func startLoad(t *testing.T, o connection.Options) *load {
	return startLoadOn(t, o, redisrig.Config(redisrig.Standard))
}

// startLoadOn is startLoad with the given configuration.
func startLoadOn(t *testing.T, o connection.Options, cfg keyspace.Config) *load {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	l := &load{stop: make(chan struct{}), r: rand.New(rand.NewPCG(seed, 0)),
		verdicts: map[article.Coordinates][]article.Verdict{}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(func() { cancel(); l.workers.Wait() })
	for range 3 {
		x := newIndex(t, redisrig.Connect(t, o), cfg)
		x.metrics = newMetrics(prometheus.NewRegistry())
		l.indexes = append(l.indexes, x)
		l.workers.Go(func() { l.work(ctx, x) })
	}
	l.waitProgress(t)
	return l
}

func (l *load) work(ctx context.Context, x *Index) {
	for {
		select {
		case <-l.stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		l.mu.Lock()
		call := l.next()
		l.mu.Unlock()
		verdicts, err := x.Claim(ctx, call)
		l.mu.Lock()
		if err != nil {
			l.failed = err
			l.mu.Unlock()
			return
		}
		l.record(call, verdicts)
		l.mu.Unlock()
	}
}

// next returns the articles of the next call: new ones and some old ones.
func (l *load) next() []article.Article {
	call := make([]article.Article, 1+l.r.IntN(12))
	for i := range call {
		// one of the latest: it may be under way, or written to a server that is gone
		if len(l.claims) > 0 && l.r.IntN(6) == 0 {
			call[i] = l.claims[max(0, len(l.claims)-1-l.r.IntN(200))]
			continue
		}
		n := len(l.claims)
		c := redisrig.Article(n, simhash.Fingerprint(l.r.Uint64()))
		family := len(l.families)
		if family == 0 || l.r.IntN(3) == 0 {
			l.families = append(l.families, nil)
		} else {
			family = max(0, family-1-l.r.IntN(40))
			o := l.families[family][l.r.IntN(len(l.families[family]))]
			c.Fingerprint = o.Fingerprint
			if l.r.IntN(3) == 0 {
				c.Digest = o.Digest
			} else {
				c.Fingerprint ^= 1 << l.r.IntN(64) & 0xff // up to one bit off, within 8 bits
			}
		}
		l.families[family] = append(l.families[family], c)
		l.claims = append(l.claims, c)
		call[i] = c
	}
	return call
}

func (l *load) record(call []article.Article, verdicts []article.Verdict) {
	for i, c := range call {
		l.verdicts[c.Coordinates] = append(l.verdicts[c.Coordinates], verdicts[i])
	}
	l.decided += len(call)
}

// waitProgress waits until 300 more claims have verdicts, so claims that were blocked go on.
func (l *load) waitProgress(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	start := l.decided
	l.mu.Unlock()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.failed != nil || l.decided > start+300
	}, 3*time.Minute, 20*time.Millisecond, "claims get no verdicts any more")
	require.NoError(t, l.failed)
}

// losses is what account has found.
type losses struct {
	articles, verdicts, retries int

	changed  int // articles that got different verdicts
	families int // families with twins, or chains without an end
	example  string
}

func (s losses) none() bool { return s.changed == 0 && s.families == 0 }

// account ends the load, claims every article once more, and compares all verdicts.
func (l *load) account(t *testing.T) losses {
	t.Helper()
	close(l.stop)
	l.workers.Wait()
	require.NoError(t, l.failed)
	for from := 0; from < len(l.claims); from += 100 {
		call := l.claims[from:min(from+100, len(l.claims))]
		verdicts, err := l.indexes[0].Claim(t.Context(), call)
		require.NoError(t, err)
		l.record(call, verdicts)
	}
	s := losses{articles: len(l.claims)}
	for _, x := range l.indexes {
		s.retries += counted(x.metrics.retries)
	}
	first := map[article.Coordinates]article.Verdict{}
	for at, verdicts := range l.verdicts {
		first[at] = verdicts[0]
		s.verdicts += len(verdicts)
		for _, a := range verdicts {
			require.NotEqual(t, at, a.Original.Coordinates, "a copy of itself")
			if a != verdicts[0] {
				s.changed++
				s.example = fmt.Sprintf("%v got the verdicts %+v", at, verdicts)
				break
			}
		}
	}
	for _, family := range l.families {
		if problem := indextest.Inconsistent(redisrig.Standard, family, first, true); problem != "" {
			s.families++
			s.example = problem
		}
	}
	t.Logf("%+v", s)
	return s
}
