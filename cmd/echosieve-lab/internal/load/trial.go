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

	"echosieve/consumer"
)

const (
	// mostGrowth is how fast the delay may grow before a rate counts as not sustained, in seconds for each second. It is also the
	// share of the published records that the service falls behind by.
	mostGrowth = .02
	// hopelessFactor times the longest delay allowed is how far behind the service may be before a trial of the search is ended.
	hopelessFactor   = 4
	progressInterval = 5 * time.Second
)

// trial publishes at one rate and waits for every verdict. With cut it ends when the rate is obviously not sustained. If ctx ends,
// the result holds what was seen until then, and the error is that of ctx.
func (b *bench) trial(ctx context.Context, rate float64, cut bool) (Result, error) {
	l := newLedger()
	id := strconv.FormatInt(l.start.UnixNano(), 36)
	r, err := newReader(ctx, b.Kafka, id, l)
	if err != nil {
		return Result{}, err
	}
	out, err := consumer.NewProducer(b.Kafka, b.Kafka.Topics.Input)
	if err != nil {
		r.client.Close()
		return Result{}, err
	}
	l.start = time.Now()
	made := b.Source.Made() // in trials before
	p := &publisher{out: out, source: b.Source, ledger: l, trial: id, rate: rate}
	if cut {
		p.mostWaiting = int(hopelessFactor * rate * b.MaxDelay.Seconds())
	}
	s := &sampler{urls: b.Metrics, ledger: l}
	s.take(ctx)
	running, stop := context.WithCancel(ctx)
	defer stop()
	group, groupCtx := errgroup.WithContext(running)
	group.Go(func() error { return r.run(groupCtx) })
	if b.InProcess {
		group.Go(func() error { return trim(groupCtx, b.Kafka, r.read) })
	}
	group.Go(func() error { s.run(groupCtx); return nil })
	group.Go(func() error { b.showProgress(groupCtx, l); return nil })
	var published time.Duration
	var ended bool
	group.Go(func() error {
		defer stop()
		var err error
		ended, err = p.run(groupCtx, b.Warmup+b.Duration)
		err = errors.Join(err, out.Close())
		published = time.Since(l.start)
		if err == nil {
			b.show(l)
			l.drain(groupCtx, b.Patience)
		}
		return err
	})
	err = group.Wait()
	s.take(ctx)
	result := b.result(l, s.readings, rate, published)
	result.Made, result.Ended = b.Source.Made().minus(made), ended
	if p.hopeless {
		result.Sustained, result.Why = false, fmt.Sprintf("more than %d records waited for their verdicts", p.mostWaiting)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return result, err
}

// showProgress writes a line every few seconds until ctx ends.
func (b *bench) showProgress(ctx context.Context, l *ledger) {
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.show(l)
		}
	}
}

func (b *bench) show(l *ledger) {
	published, arrived := l.counts()
	fmt.Fprintf(b.Progress, "  %d records published, %d wait for their verdicts\n", published, published-arrived)
}

// result makes a trial's figures.
func (b *bench) result(l *ledger, readings []reading, rate float64, published time.Duration) Result {
	delays, span := l.delays(b.Warmup)
	count, arrived := l.counts()
	r := Result{
		Rate: rate, Seconds: span.Seconds(), Published: count, Missing: count - arrived,
		Redelivered: l.redelivered, Verdicts: l.verdicts,
	}
	if span > 0 {
		r.Throughput = float64(len(delays)) / span.Seconds()
	}
	r.Why = b.unsustained(delays, r.Missing)
	r.Sustained = r.Why == ""
	slices.Sort(delays)
	r.Delay = Delay{quantile(delays, .5), quantile(delays, .9), quantile(delays, .99), quantile(delays, 1)}
	if len(readings) < 2 {
		return r
	}
	base, last := readings[0], readings[len(readings)-1]
	for _, s := range readings {
		if s.at <= b.Warmup {
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

// Rule says when a rate counts as sustained.
func (p Plan) Rule() string {
	return fmt.Sprintf("every record has a verdict, the p99 of the delay is at most %s, and the median delay grows by at most %g ms in a second from the first third of the time to the last",
		p.MaxDelay, 1000*mostGrowth)
}

// unsustained says which part of the rule was broken by delays in the order in which the records were due; "" if none.
func (p Plan) unsustained(delays []time.Duration, missing int) string {
	third := len(delays) / 3
	switch {
	case missing > 0:
		return fmt.Sprintf("%d records have no verdict", missing)
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

// quantile returns the smallest value that is not below a share q of them, in milliseconds; 0 if there are none. The
// values must be sorted.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return milliseconds(sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)])
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
