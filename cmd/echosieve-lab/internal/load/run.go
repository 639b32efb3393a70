package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"echosieve/app/visible"
	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/internal/stopping"
)

// Plan holds rate, times and limits of a run.
type Plan struct {
	Rate     float64       // records per second
	Duration time.Duration // after the warm-up
	Warmup   time.Duration // records published meanwhile need verdicts, but their delay is not measured
	Idle     time.Duration // time without load before the idle memory of the service is read
	Patience time.Duration // missing verdicts are given up when none has come for this long
}

const (
	mostRate = 1e6
	// mostRecords bounds the memory of the ledger: 16 bytes a record.
	mostRecords = 20_000_000
	// mostInProcess bounds the memory of this process, which keeps input and output: about 1 GB.
	mostInProcess = 200_000
)

// validate names the flag that is wrong.
func (p Plan) validate(onReal bool) error {
	records := p.Rate * (p.Warmup + p.Duration).Seconds()
	for _, f := range []struct {
		ok  bool
		why string
	}{
		{p.Rate > 0 && p.Rate <= mostRate, "--rate must be above 0 and at most 1000000 records a second"},
		{p.Duration >= time.Second && p.Duration <= 24*time.Hour, "--duration must be between 1s and 24h"},
		{p.Warmup >= 0 && p.Warmup <= time.Hour, "--warmup must be between 0s and 1h"},
		{p.Idle >= 0 && p.Idle <= time.Hour, "--idle must be between 0s and 1h"},
		{p.Patience >= time.Second && p.Patience <= time.Hour, "--patience must be between 1s and 1h"},
		{p.Rate*p.Duration.Seconds() >= 10, "--rate times --duration is less than 10 records: raise one"},
		{records <= mostRecords, "--rate times --duration is more than 20 million records: lower one"},
		{onReal || records <= mostInProcess,
			"--rate times --duration is more than 200,000 records, which in-process servers keep in memory: lower one, " +
				"or use real ones with --real"},
	} {
		if !f.ok {
			return errors.New(f.why)
		}
	}
	return nil
}

// measurement is a run in progress.
type measurement struct {
	Plan
	kafka    broker.Config
	service  *process
	source   *Feed
	progress io.Writer
	report   Report
}

// run measures. After an error the report holds the figures until then.
func (m *measurement) run(ctx context.Context) (Report, error) {
	ctx, stop := m.service.whileRuns(ctx)
	defer stop()
	err := m.settle(ctx)
	if err == nil {
		fmt.Fprintf(m.progress, "%.4g records/s for %s, after a warm-up of %s\n", m.Rate, m.Duration, m.Warmup)
		m.report.Result, err = m.publish(ctx)
		m.report.Service.UnderLoad, m.report.Service.PeakBytes = m.report.MostMemory, m.service.child.PeakMemory()
	}
	m.report.Interrupted = errors.Is(err, context.Canceled)
	return m.report, err
}

// settle waits until the service is ready and then for Plan.Idle, and reads its memory.
func (m *measurement) settle(ctx context.Context) error {
	took, err := m.service.waitReady(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(m.progress, "the service was ready after %s; idle for %s\n", took.Round(time.Millisecond), m.Idle)
	if stopping.Wait(ctx, m.Idle) != nil {
		return context.Cause(ctx)
	}
	s, err := scrape(ctx, m.service.url)
	m.report.Service = &Service{StartMS: milliseconds(took), IdleBytes: int64(s.memory), SettledSecs: m.Idle.Seconds()}
	return err
}

const progressInterval = 5 * time.Second

// publish publishes at the rate of the plan and waits for every verdict. If ctx ends, the result covers the time
// until then, and the error is the cause of ctx.
func (m *measurement) publish(ctx context.Context) (Result, error) {
	l := newLedger()
	id := strconv.FormatInt(l.start.UnixNano(), 36)
	r, err := newReader(ctx, m.kafka, id, l)
	if err != nil {
		return Result{}, err
	}
	out, err := tools.NewProducer(m.kafka, m.kafka.Topics.Inputs[0])
	if err != nil {
		r.client.Close()
		return Result{}, err
	}
	l.start = time.Now()
	p := &publisher{out: out, source: m.source, ledger: l, trial: id, rate: m.Rate}
	s := &sampler{service: m.service.url, ledger: l}
	s.take(ctx)
	running, stop := context.WithCancel(ctx)
	defer stop()
	group, groupCtx := errgroup.WithContext(running)
	group.Go(func() error { return r.run(groupCtx) })
	group.Go(func() error {
		for stopping.Wait(groupCtx, scrapeInterval) == nil {
			s.take(groupCtx)
		}
		return nil
	})
	group.Go(func() error {
		for stopping.Wait(groupCtx, progressInterval) == nil {
			m.show(l)
		}
		return nil
	})
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

func (m *measurement) show(l *ledger) {
	published, arrived := l.counts()
	fmt.Fprintf(m.progress, "  %s published, %d wait for their verdicts\n", visible.Count(published, "record"),
		published-arrived)
}

// result computes the figures. published is the time from the start until the last record was published.
func (m *measurement) result(l *ledger, readings []reading, published time.Duration) Result {
	delays, span := l.delays(m.Warmup)
	count, arrived := l.counts()
	r := Result{
		Rate: m.Rate, Seconds: span.Seconds(), Published: count, Missing: count - arrived, Redelivered: l.redelivered,
		Verdicts: l.verdicts, Made: m.source.made,
	}
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
