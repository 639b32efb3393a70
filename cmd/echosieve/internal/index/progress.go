package index

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/internal/files"
)

// progress shows how far a command has come: a line that is written anew on a terminal, otherwise a line every few seconds.
type progress struct {
	out   io.Writer
	what  string       // that is counted, such as "records"
	total atomic.Int64 // 0: unknown
	done  atomic.Int64
	began time.Time
}

func newProgress(out io.Writer, what string) *progress {
	return &progress{out: out, what: what, began: time.Now()}
}

// start shows the progress until stop is called.
func (p *progress) start() (stop func()) {
	ended, interval, lineEnd := make(chan struct{}), 5*time.Second, "\n"
	if files.OnTerminal(p.out) {
		interval, lineEnd = time.Second, "\r"
	}
	var shown sync.WaitGroup
	shown.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(p.out, "%-78s%s", p.line(time.Since(p.began)), lineEnd)
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		shown.Wait()
	}
}

func (p *progress) line(elapsed time.Duration) string {
	done, total := p.done.Load(), p.total.Load()
	rate := float64(done) / max(elapsed.Seconds(), 1e-3)
	if total == 0 {
		return fmt.Sprintf("%d %s, %.0f/s", done, p.what, rate)
	}
	text := fmt.Sprintf("%d of %d %s, %.0f/s", done, total, p.what, rate)
	if done == 0 {
		return text
	}
	left := time.Duration(float64(elapsed) * float64(max(0, total-done)) / float64(done))
	return text + fmt.Sprintf(", about %s left", left.Round(time.Second))
}
