package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"echosieve/app/visible"
	"echosieve/consumer/tools"
)

const progressInterval = 5 * time.Second

// trial publishes at the rate of the plan and waits for every verdict. If ctx ends, the result covers the time
// until then, and the error is the cause of ctx.
func (m *measurement) trial(ctx context.Context) (Result, error) {
	l := newLedger()
	id := strconv.FormatInt(l.start.UnixNano(), 36)
	r, err := newReader(ctx, m.Kafka, id, l)
	if err != nil {
		return Result{}, err
	}
	out, err := tools.NewProducer(m.Kafka, m.Kafka.Topics.Inputs[0])
	if err != nil {
		r.client.Close()
		return Result{}, err
	}
	l.start = time.Now()
	p := &publisher{out: out, source: m.Source, ledger: l, trial: id, rate: m.Rate}
	s := &sampler{service: m.Process.URL, ledger: l}
	s.take(ctx)
	running, stop := context.WithCancel(ctx)
	defer stop()
	group, groupCtx := errgroup.WithContext(running)
	group.Go(func() error { return r.run(groupCtx) })
	if m.InProcess {
		group.Go(func() error { return trim(groupCtx, m.Kafka, r.read) })
	}
	group.Go(func() error { every(groupCtx, scrapeInterval, func() { s.take(groupCtx) }); return nil })
	group.Go(func() error { every(groupCtx, progressInterval, func() { m.show(l) }); return nil })
	var published time.Duration
	group.Go(func() error {
		defer stop()
		err := errors.Join(p.run(groupCtx, m.Warmup+m.Duration), out.Close())
		published = time.Since(l.start)
		if err == nil {
			m.show(l)
			l.drain(groupCtx, m.Patience)
		}
		return err
	})
	err = group.Wait()
	s.take(ctx)
	result := m.result(l, s.readings, published)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return result, err
}

// every calls f once in each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}

func (m *measurement) show(l *ledger) {
	published, arrived := l.counts()
	fmt.Fprintf(m.Progress, "  %s published, %d wait for their verdicts\n", visible.Count(published, "record"),
		published-arrived)
}

// result computes the figures of a trial. published is the time from its start until the last record was published.
func (m *measurement) result(l *ledger, readings []reading, published time.Duration) Result {
	delays, span := l.delays(m.Warmup)
	count, arrived := l.counts()
	r := Result{
		Rate: m.Rate, Seconds: span.Seconds(), Published: count, Missing: count - arrived,
		Redelivered: l.redelivered, Verdicts: l.verdicts,
	}
	made := m.Source.Made()
	r.Made = Made{made.Originals, made.Near, made.Exact}
	if span > 0 {
		r.Throughput = float64(len(delays)) / span.Seconds()
	}
	slices.Sort(delays)
	r.Delay = Delay{quantile(delays, .5), quantile(delays, .9), quantile(delays, .99), quantile(delays, 1)}
	if len(readings) < 2 {
		return r
	}
	base, last := readings[0], readings[len(readings)-1]
	for _, s := range readings {
		if s.at <= m.Warmup {
			base = s
		}
		if s.at <= published {
			r.Lag = int(s.lag)
		}
		r.MostLag, r.MostMemory = max(r.MostLag, int(s.lag)), max(r.MostMemory, int64(s.memory))
	}
	r.Memory = int64(last.memory)
	if n := last.arrived - base.arrived; n > 0 {
		r.CPU = (last.cpu - base.cpu) / float64(n) * 1e6
	}
	return r
}

// quantile returns, in milliseconds, the smallest value such that at least the share q of the values is not
// larger; 0 if there are none. The values must be sorted.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return milliseconds(sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)])
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
