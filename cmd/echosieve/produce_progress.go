package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

const (
	barInterval  = 200 * time.Millisecond // on a terminal
	lineInterval = 5 * time.Second        // in a log
)

// progress shows how far reading has come: a bar on a terminal, otherwise a line every few seconds. It goes
// by the bytes of the files as they are, compressed or not. The counters may be used concurrently.
type progress struct {
	total     int64        // -1 if not known
	published func() int64 // records acknowledged
	verb      string       // what became of those records
	read, bad atomic.Int64
	began     time.Time

	mu  sync.Mutex // guards what is written to out
	out io.Writer
	bar *progressbar.ProgressBar // nil unless out is a terminal
}

func newProgress(out io.Writer, total int64, published func() int64) *progress {
	p := &progress{total: total, published: published, verb: "published", out: out, began: time.Now()}
	if onTerminal(out) {
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionShowBytes(true),
			progressbar.OptionUseIECUnits(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionFullWidth(),
		)
	}
	return p
}

// start shows the progress until the returned function is called, which waits for the last output.
func (p *progress) start() (stop func()) {
	ended := make(chan struct{})
	interval := lineInterval
	if p.bar != nil {
		interval = barInterval
	}
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				p.show()
			}
		}
	})
	return func() {
		close(ended)
		done.Wait()
		if p.bar != nil {
			p.show()
			fmt.Fprintln(p.out)
		}
	}
}

// counting counts what is read through it.
func (p *progress) counting(r io.Reader) io.Reader { return &countingReader{Reader: r, n: &p.read} }

type countingReader struct {
	io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// print writes a line of text between the lines of the progress.
func (p *progress) print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear() // only decoration is lost
	}
	fmt.Fprintln(p.out, text)
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		fmt.Fprintln(p.out, p.line(time.Since(p.began)))
		return
	}
	p.bar.Describe(fmt.Sprintf("%d records, %d bad", p.published(), p.bad.Load()))
	_ = p.bar.Set64(p.read.Load()) // only decoration is lost
}

// line is the progress as one line of text after the given time.
func (p *progress) line(elapsed time.Duration) string {
	published, read := p.published(), p.read.Load()
	text := fmt.Sprintf("%d records %s, %d bad lines, %.0f records/s",
		published, p.verb, p.bad.Load(), float64(published)/max(elapsed.Seconds(), 1e-3))
	if p.total <= 0 || read == 0 {
		return text
	}
	left := time.Duration(float64(elapsed) * float64(max(0, p.total-read)) / float64(read))
	return text + fmt.Sprintf(", %d%% read, about %s left", 100*read/p.total, left.Round(time.Second))
}
