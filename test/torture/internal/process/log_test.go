package process

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	fetchFails  = `time=2026 level=WARN msg="kafka operation fails, trying again" component=consumer operation=fetch subject=a/1 err="x level=INFO"`
	fetchFails2 = `time=2026 level=WARN msg="kafka operation fails, trying again" component=consumer operation=fetch subject=a/2 err=y`
	commitFails = `time=2026 level=WARN msg="kafka operation fails, trying again" component=consumer operation=commit subject=g err=x`
	fetchWorks  = `time=2026 level=INFO msg="kafka operation works again" component=consumer operation=fetch`
	joined      = `time=2026 level=INFO msg="joined group generation" component=consumer group=g generation=7 partitions=2`
	redisDown   = `time=2026 level=WARN msg="connection is down" component=redis err=x`
	redisUp     = `time=2026 level=INFO msg="connection is up" component=redis`
	another     = `time=2026 level=INFO msg="kafka operation still fails, for another reason" component=consumer operation=fetch subject=a/1 err=z`
)

// A warning is noise if it says what stands already, however many warnings there are.
func TestRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		noise map[string]int
	}{
		"once each":          {[]string{fetchFails, commitFails, redisDown}, map[string]int{}},
		"at each retry":      {[]string{fetchFails, fetchFails, fetchFails2}, map[string]int{"consumer": 2}},
		"for another reason": {[]string{fetchFails, another, fetchFails}, map[string]int{"consumer": 1}},
		"after it worked": {[]string{fetchFails, fetchWorks, fetchFails, redisDown, redisUp, redisDown},
			map[string]int{}},
		"after another worked": {[]string{commitFails, fetchWorks, redisUp, commitFails},
			map[string]int{"consumer": 1}},
		"in the next generation": {[]string{fetchFails, commitFails, joined, fetchFails, commitFails},
			map[string]int{}},
		"joining ends no outage": {[]string{redisDown, joined, redisDown}, map[string]int{"redis": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open(os.DevNull)
			require.NoError(t, err)
			defer file.Close()
			l := newLog(file)
			for _, line := range c.lines {
				l.line([]byte(line))
			}
			require.Equal(t, c.noise, l.repeated)
		})
	}
}
