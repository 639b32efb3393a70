package filter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/inquiry"
	"echosieve/app/visible"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/record"
)

// filtering is one run of the command.
type filtering struct {
	cfg    config.Config
	input  input
	output outputs
	index  *memindex.Index
	pipe   *pipeline.Pipeline
	learnt *learnt.InOrder // nil: nothing is learnt
	counts counts
	mostly files.Tally // articles of which more than half is left out, by publisher

	judge   *inquiry.Judge
	dropped *dropped // nil: nobody asks for the page of drops
}

// counts are of the articles whose lines are written. They are read while the run goes on.
type counts struct {
	topics [article.DestinationCount]atomic.Int64
	kinds  [article.Possible + 1]atomic.Int64
	news   atomic.Int64 // of the possible ones: brings something new to an earlier article of its publisher
}

// newFiltering returns a run with the pipeline of the service on an index in memory or, with a folder's name, in that
// folder.
func newFiltering(cfg config.Config, folder string) (*filtering, error) {
	cfg.Input.Config = cfg.Input.AsJSON()
	made, err := cfg.LoadRecipe()
	if err != nil {
		return nil, err
	}
	r := &filtering{cfg: cfg, judge: inquiry.NewJudge(cfg, made),
		output: outputs{decode: cfg.Input.Config},
		input:  input{Reader: files.Reader{Input: cfg.Input.Config, Limit: cfg.Kafka.MaxMessageBytes}}}
	layout := cfg.IndexConfig(made.ID())
	settings := memindex.Config{
		Window: cfg.Window, Slices: layout.Slices, Search: layout.Search, Policy: cfg.Policy,
		BlockBits: layout.Plan().Layout.Bits, MaxCandidates: layout.MaxCandidates,
	}
	if folder == "" {
		r.index = memindex.New(settings)
	} else if r.index, err = memindex.Open(folder, settings, made.ID()); err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	service := pipeline.Config{Decode: cfg.Input.Config, RecordConfig: cfg.Input.Records,
		MaxMessageBytes: cfg.Kafka.MaxMessageBytes, NoPossible: cfg.Kafka.Topics.Possible == ""}
	if cfg.Detection.Learn {
		if r.learnt, err = learntBefore(r.index, folder != ""); err != nil {
			return nil, errors.Join(fmt.Errorf("--state: %w", err), r.index.Close())
		}
		made.LeaveOut(r.learnt.Rows)
		service.Learnt = r.learnt
	}
	r.pipe = pipeline.New(service, made, r.index, nil)
	return r, nil
}

// filter reads, decides and writes until the input ends or ctx does. Articles are read and prepared ahead,
// decided and written in their order.
func (r *filtering) filter(ctx context.Context) error {
	ahead, stop := context.WithCancel(ctx)
	defer stop()
	read, prepared := make(chan batch), make(chan batch, 1)
	var failed error // set before prepared is closed
	go func() {
		defer close(prepared)
		ended := make(chan error, 1)
		go func() { ended <- r.input.read(ahead, read) }()
		for b := range read {
			if b.prepared, failed = r.pipe.Prepare(ahead, b.records); failed != nil {
				return
			}
			select {
			case prepared <- b:
			case <-ahead.Done():
				return
			}
		}
		failed = <-ended
	}()
	for {
		select {
		case <-ctx.Done():
			return errInterrupted
		case b, more := <-prepared:
			if !more && ctx.Err() != nil {
				return errInterrupted
			}
			if !more {
				return failed
			}
			if err := r.decide(&b); err != nil {
				return err
			}
		}
	}
}

var errInterrupted = errors.New("interrupted: the lines written are complete, the rest was not read")

// decide writes the lines of a batch. It ignores the end of the run, so that a batch is written as a whole.
func (r *filtering) decide(b *batch) error {
	decided, err := r.pipe.Decide(context.Background(), b.prepared)
	if err == nil {
		err = r.index.Sync() // before the lines: after a crash, the same articles get the same verdicts again
	}
	if err != nil {
		return err
	}
	for i := range decided {
		out := &decided[i]
		if f := b.faults[i]; f != nil {
			if out.Detail, out.Record.Value = f.Error(), nil; f.TooLong() {
				out.Reason = string(record.TooLarge)
			}
		}
		if err := r.output.write(out); err != nil {
			return err
		}
		r.output.tell(out)
		if r.dropped != nil {
			if err := r.dropped.add(out); err != nil {
				return err
			}
		}
		r.counts.add(out)
		if out.LeftOut > pipeline.MostlyLeftOut {
			r.mostly.Add(cmp.Or(article.PublisherOf(out.Content.Publisher, ""), "without a publisher"), out.Record.String())
		}
		if r.input.runs != nil {
			r.input.runs.add(&out.Verdict)
		}
	}
	r.collect()
	return r.output.flush()
}

func (c *counts) add(out *pipeline.Output) {
	c.topics[out.Destination].Add(1)
	c.kinds[out.Verdict.Kind].Add(1)
	if out.Verdict.Kind == article.Possible && out.Verdict.Reason == article.ReasonPublisher {
		c.news.Add(1)
	}
}

func (c *counts) total() (n int64) {
	for i := range c.topics {
		n += c.topics[i].Load()
	}
	return n
}

// progress is the state of the run in one line. total is the size of the input in bytes, -1 if unknown.
func (r *filtering) progress(elapsed time.Duration, total int64) string {
	c := &r.counts
	copies := c.kinds[article.Exact].Load() + c.kinds[article.Near].Load()
	said := fmt.Sprintf("%d read, %s, %d dead", c.total(), visible.Count(copies, "copy"), c.topics[article.ToDead].Load())
	return files.Pace(said, c.total(), elapsed, r.input.bytes.Load(), total)
}

func (r *filtering) summarise(w io.Writer, elapsed time.Duration) {
	c := &r.counts
	var topics []string
	for _, to := range append(article.VerdictDestinations(), article.ToDead) {
		if to == article.ToPossible && r.cfg.Kafka.Topics.Possible == "" { // a part of unique
			continue
		}
		topics = append(topics, fmt.Sprintf("%d %s", c.topics[to].Load(), to))
	}
	fmt.Fprintf(w, "%s in %.1f s (%.0f/s): %s; copies: %d exact, %d near; possible copies: %d, %d of them news of the "+
		"same publisher\n", visible.Count(c.total(), "article"), elapsed.Seconds(),
		float64(c.total())/max(elapsed.Seconds(), 1e-3), strings.Join(topics, ", "), c.kinds[article.Exact].Load(),
		c.kinds[article.Near].Load(), c.kinds[article.Possible].Load(), c.news.Load())
	if n := r.output.notUTF8; n > 0 {
		fmt.Fprintf(w, "%s with bytes that are no UTF-8: these are U+FFFD in the output\n", visible.Count(n, "article"))
	}
	for _, report := range []struct {
		unit, what string
		tally      *files.Tally
	}{
		{"time", "of publication could not be read, by form", &r.input.unread},
		{"article", "of which more than half is left out of what is compared, by publisher", &r.mostly},
		{"response", "of web archives without a page", &r.input.noPages},
	} {
		if n := report.tally.Total(); n > 0 {
			fmt.Fprintln(w, visible.Line(fmt.Sprintf("%s %s: %s", visible.Count(n, report.unit), report.what, report.tally)))
		}
	}
	r.tellLearnt(w)
}

// tellLearnt says how many sentences are left out, because publishers repeat them, and shows one.
func (r *filtering) tellLearnt(w io.Writer) {
	if r.learnt == nil || r.learnt.Rows.Len() == 0 {
		return
	}
	all := r.learnt.Rows.All()
	last := all[len(all)-1] // the first are those of all publishers
	fmt.Fprintln(w, visible.Line(fmt.Sprintf("%s learnt that publishers repeat, then left out; of %s: %s",
		visible.Count(len(all), "sentence"), cmp.Or(last.Publisher, "no publisher"), last.Sentence)))
}

// garbage is the memory that may wait for the garbage collector beside what a run holds, in bytes.
const garbage = 90 << 20

// storyBytes is about the memory of an article in stories, in bytes.
const storyBytes = 500

// collect makes the garbage collector run before the process takes more memory than what the run holds and garbage.
// GOMEMLIMIT takes its place.
func (r *filtering) collect() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	kept := r.index.Bytes()
	if r.output.stories != nil {
		kept += storyBytes * r.counts.total()
	}
	debug.SetMemoryLimit(garbage + kept)
}
