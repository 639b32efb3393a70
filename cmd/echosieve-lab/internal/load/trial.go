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

	"echosieve/consumer/tools"
	"echosieve/internal/plural"
)

// mostGrowth is how fast the delay may grow at a rate that counts as sustained, in seconds for each second.
// With .02 the delay has grown by 1.2 seconds after a minute, and the service works off 98 % of the records
// that are published. It is a variable for the tests, because a short trial on a busy machine measures growth
// where there is none.
var mostGrowth = .02

const (
	// hopelessFactor ends a trial of the search early: when more records wait for their verdicts than are
	// published within this many times Plan.MaxDelay.
	hopelessFactor   = 4
	progressInterval = 5 * time.Second
)

// trial publishes at one rate and waits for every verdict. With cut it ends as soon as it is clear that the
// rate is not sustained (see hopelessFactor). If ctx ends, the result covers the time until then, and the
// error is the cause of ctx.
func (m *measurement) trial(ctx context.Context, rate float64, cut bool) (Result, error) {
	l := newLedger()
	id := strconv.FormatInt(l.start.UnixNano(), 36)
	r, err := newReader(ctx, m.Kafka, id, l)
	if err != nil {
		return Result{}, err
	}
	out, err := tools.NewProducer(m.Kafka, m.Kafka.Topics.Input)
	if err != nil {
		r.client.Close()
		return Result{}, err
	}
	l.start = time.Now()
	made := m.Source.Made() // by earlier trials
	p := &publisher{out: out, source: m.Source, ledger: l, trial: id, rate: rate}
	if cut {
		p.mostWaiting = int(hopelessFactor * rate * m.MaxDelay.Seconds())
	}
	s := &sampler{urls: m.Metrics, ledger: l}
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
	result := m.result(l, s.readings, rate, published)
	now := m.Source.Made()
	result.Made = Made{now.Originals - made.Originals, now.Near - made.Near, now.Exact - made.Exact}
	if p.hopeless {
		result.Sustained, result.Why = false, fmt.Sprintf("more than %d records waited for their verdicts",
			p.mostWaiting)
	}
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
	fmt.Fprintf(m.Progress, "  %s published, %d wait for their verdicts\n", plural.Of(published, "record"),
		published-arrived)
}

// result computes the figures of a trial. published is the time from its start until the last record was published.
func (m *measurement) result(l *ledger, readings []reading, rate float64, published time.Duration) Result {
	delays, span := l.delays(m.Warmup)
	count, arrived := l.counts()
	r := Result{
		Rate: rate, Seconds: span.Seconds(), Published: count, Missing: count - arrived,
		Redelivered: l.redelivered, Verdicts: l.verdicts,
	}
	if span > 0 {
		r.Throughput = float64(len(delays)) / span.Seconds()
	}
	r.Why = m.unsustained(delays, r.Missing)
	r.Sustained = r.Why == ""
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

// Rule says in words when a rate counts as sustained.
func (p Plan) Rule() string {
	return fmt.Sprintf("every record has a verdict, the p99 of the delay is at most %s, and the median delay "+
		"grows by at most %g ms in a second from the first third of the time to the last",
		p.MaxDelay, 1000*mostGrowth)
}

// unsustained returns which part of the rule was broken, "" if none. The delays are in the order in which the
// records were due.
func (p Plan) unsustained(delays []time.Duration, missing int) string {
	third := len(delays) / 3
	switch {
	case missing > 0:
		return plural.Of(missing, "record") + " without a verdict"
	case third == 0:
		return "too few records after the warm-up"
	}
	middle := func(d []time.Duration) float64 { return quantile(slices.Sorted(slices.Values(d)), .5) }
	growth := (middle(delays[2*third:]) - middle(delays[:third])) / (p.Duration.Seconds() * 2 / 3)
	if p99 := quantile(slices.Sorted(slices.Values(delays)), .99); p99 > milliseconds(p.MaxDelay) {
		return fmt.Sprintf("the p99 of the delay is %.0f ms", p99)
	}
	if growth > 1000*mostGrowth {
		return fmt.Sprintf("the delay grows by %.0f ms in a second", growth)
	}
	return ""
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
