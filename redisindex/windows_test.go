package redisindex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// docs/operations.md and docs/scale.md say how many windows of articles Redis holds, by which its memory is planned: on
// average and at most, when articles come evenly.
func TestWindowsHeld(t *testing.T) {
	for _, c := range []struct {
		generations   int
		average, most float64
	}{{1, 2, 2.5}, {2, 1.75, 2}} {
		cfg := testConfig(standard)
		cfg.Window, cfg.Generations = 100*time.Hour, c.generations
		l := newLayout(cfg)
		length := time.Duration(l.spanMs) * time.Millisecond
		const steps = 1000
		most, sum := 0.0, 0.0
		for i := range steps {
			now := 10*cfg.Window + time.Duration(i)*cfg.Window/steps
			held := time.Duration(0)
			for begin := time.Duration(0); begin < now; begin += length {
				if end := begin + length; end > now {
					held += now - begin
				} else if now < end+l.lifetime {
					held += length
				}
			}
			windows := float64(held) / float64(cfg.Window)
			most, sum = max(most, windows), sum+windows
		}
		require.InDelta(t, c.average, sum/steps, 0.01)
		require.InDelta(t, c.most, most, 0.01)
	}
}
