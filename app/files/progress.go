package files

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/app/visible"
)

// Progress shows how far a command has come with its files, as ShowLine does. It compares the bytes read with the size
// of the files as they are stored, compressed or not. Safe for concurrent use.
type Progress struct {
	Bad atomic.Int64 // lines that were left out so far

	total int64        // size of the files in bytes, -1 if not known
	done  func() int64 // records finished so far
	verb  string       // the finished work, such as "published"
	read  atomic.Int64 // bytes read so far
	began time.Time
	out   io.Writer
}

// NewProgress returns the progress over files of total bytes, -1 if the number is unknown. The function done
// returns how many records are finished, and verb names the finished work, as in "50 records published".
func NewProgress(out io.Writer, total int64, verb string, done func() int64) *Progress {
	return &Progress{total: total, done: done, verb: verb, out: out, began: time.Now()}
}

// Start shows the progress until stop is called. Nothing is written after stop returns.
func (p *Progress) Start() (stop func()) { return ShowLine(p.out, p.line) }

// Counting returns a reader of r that counts the bytes that are read from it.
func (p *Progress) Counting(r io.Reader) io.Reader { return Counting(r, &p.read) }

// Counting returns a reader of r that adds the bytes that are read from it to n.
func Counting(r io.Reader, n *atomic.Int64) io.Reader { return io.TeeReader(r, counter{n}) }

type counter struct{ *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.Add(int64(len(b)))
	return len(b), nil
}

// Print writes a line of text, which may quote strangers, between the lines of the progress.
func (p *Progress) Print(text string) {
	width := 0
	if OnTerminal(p.out) {
		width = lineColumns
	}
	fmt.Fprintf(p.out, "%-*s\n", width, visible.Line(text))
}

// Elapsed returns the time since NewProgress.
func (p *Progress) Elapsed() time.Duration { return time.Since(p.began) }

// line returns the progress as one line of text. elapsed is the time since the start.
func (p *Progress) line(elapsed time.Duration) string {
	done := p.done()
	return Pace(fmt.Sprintf("%s %s, %s", visible.Count(done, "record"), p.verb, visible.Count(p.Bad.Load(), "bad line")),
		done, elapsed, p.read.Load(), p.total)
}

// Pace is the line of progress of a command: what it says is done, how many of these a second and, if whole is above 0,
// which share of the work that is and how long the rest takes at this rate, as in "50 records, 10/s, 25%, about 15s
// left".
func Pace(said string, done int64, elapsed time.Duration, part, whole int64) string {
	text := fmt.Sprintf("%s, %.0f/s", said, float64(done)/max(elapsed.Seconds(), 1e-3))
	if whole <= 0 || part <= 0 {
		return text
	}
	left := time.Duration(float64(elapsed) * float64(max(0, whole-part)) / float64(part))
	return text + fmt.Sprintf(", %d%%, about %s left", 100*part/whole, left.Round(time.Second))
}

// lineColumns is the width of the line that changes. What is shorter is filled up with blanks over the line before it.
const lineColumns = 78

// ShowLine writes what line returns, which must not hold text of strangers, until stop is called: on a
// terminal one line that changes every second, otherwise a line every five seconds. It writes nothing while
// line returns "". Nothing is written after stop returns. elapsed is the time since ShowLine was called.
func ShowLine(out io.Writer, line func(elapsed time.Duration) string) (stop func()) {
	began, interval, format := time.Now(), 5*time.Second, "%s\n"
	terminal, onTerminal := visible.Terminal(out)
	if onTerminal {
		out, interval, format = terminal, time.Second, fmt.Sprintf("%%-%ds\r", lineColumns)
	}
	ended := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				if text := line(time.Since(began)); text != "" {
					fmt.Fprintf(out, format, text)
				}
			}
		}
	})
	return func() {
		close(ended)
		done.Wait()
		if onTerminal {
			fmt.Fprintf(out, format, "") // blanks over the last line
		}
	}
}

// OnTerminal tells whether a command's input or output is a terminal.
func OnTerminal(stream any) bool {
	_, ok := visible.Terminal(stream)
	return ok
}
