package index

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"echosieve/internal/app/files"
)

// progress shows how far a command has come.
type progress struct {
	out   io.Writer
	what  string       // that is counted, such as "records"
	total atomic.Int64 // 0: unknown
	done  atomic.Int64
}

// start shows the progress until stop is called.
func (p *progress) start() (stop func()) { return files.ShowLine(p.out, p.line) }

func (p *progress) line(elapsed time.Duration) string {
	done, total := p.done.Load(), p.total.Load()
	rate := float64(done) / max(elapsed.Seconds(), 1e-3)
	if total == 0 {
		return fmt.Sprintf("%d %s, %.0f/s", done, p.what, rate)
	}
	return fmt.Sprintf("%d of %d %s, %.0f/s%s", done, total, p.what, rate, files.TimeLeft(elapsed, done, total))
}
