package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"echosieve/consumer"
)

// Setup says where the articles come from and where they go.
type Setup struct {
	Kafka     consumer.Config
	InProcess bool      // Kafka and Redis are in this process
	Process   *Process  // the service that was started; nil: services that run already are measured
	Metrics   []string  // URLs of /metrics of the services
	Source    Source    // of the articles
	Progress  io.Writer // one line for each step
}

// Plan says what is measured.
type Plan struct {
	Rate     float64       // records per second; where the search for the limit starts
	Duration time.Duration // of a trial, after the warm-up
	Warmup   time.Duration // records published meanwhile need verdicts, but their delay is not measured
	Idle     time.Duration // time without load before the idle memory of Process is read
	Patience time.Duration // missing verdicts are given up when none has come for this long
	MaxDelay time.Duration // a rate is sustained only if the p99 of the delay is at most this

	FindLimit bool
	LimitTime time.Duration // after which the search for the limit starts no further trial
	Shares    []int         // percentages of the limit at which the delay is measured then
}

const (
	mostRate = 1e6
	// mostRecords bounds the memory of a trial's ledger: 16 bytes a record.
	mostRecords = 20_000_000
)

// Validate names the flag that is wrong.
func (p Plan) Validate() error {
	for _, f := range []struct {
		ok  bool
		why string
	}{
		{p.Rate > 0 && p.Rate <= mostRate, "--rate must be above 0 and at most 1000000 records a second"},
		{p.Duration >= time.Second && p.Duration <= 24*time.Hour, "--duration must be between 1s and 24h"},
		{p.Warmup >= 0 && p.Warmup <= time.Hour, "--warmup must be between 0s and 1h"},
		{p.Idle >= 0 && p.Idle <= time.Hour, "--idle must be between 0s and 1h"},
		{p.Patience >= time.Second && p.Patience <= time.Hour, "--patience must be between 1s and 1h"},
		{p.MaxDelay >= time.Millisecond && p.MaxDelay <= time.Hour, "--max-delay must be between 1ms and 1h"},
		{p.LimitTime >= time.Second && p.LimitTime <= 24*time.Hour, "--limit-time must be between 1s and 24h"},
		{p.Rate*p.Duration.Seconds() >= 10, "--rate times --duration is less than 10 records: raise one"},
		{p.Rate*(p.Warmup+p.Duration).Seconds() <= mostRecords, "--rate times --duration is more than 20 million records: lower one"},
	} {
		if !f.ok {
			return errors.New(f.why)
		}
	}
	for _, share := range p.Shares {
		if share <= 0 || share > 200 {
			return errors.New("--at wants percentages of the limit above 0 and at most 200, such as 25,50,90")
		}
	}
	return nil
}

// bench is a run in progress.
type bench struct {
	Setup
	Plan
	report Report
}

// Run measures. The report is right beside an error, too: it holds what was measured until then. The plan must be valid.
func Run(ctx context.Context, setup Setup, plan Plan) (Report, error) {
	b := &bench{Setup: setup, Plan: plan, report: Report{Servers: "configured"}}
	if setup.InProcess {
		b.report.Servers = "in-process"
	}
	ctx, stop := b.whileServiceRuns(ctx)
	defer stop()
	err := b.measure(ctx)
	if b.Process != nil && b.report.Service != nil {
		b.report.Service.PeakBytes = b.Process.child.PeakMemory()
	}
	b.report.Interrupted = errors.Is(err, context.Canceled)
	return b.report, err
}

// whileServiceRuns returns a context that ends when the process of the service does. Its cause is the reason.
func (b *bench) whileServiceRuns(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(nil) }
	if b.Process != nil {
		go func() {
			select {
			case <-b.Process.ended:
				cancel(b.Process.fault)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, stop
}

func (b *bench) measure(ctx context.Context) error {
	if b.Process != nil {
		if err := b.settle(ctx); err != nil {
			return err
		}
	}
	if _, err := scrape(ctx, b.Metrics); err != nil {
		return err
	}
	if b.FindLimit {
		return b.limitAndShares(ctx)
	}
	fmt.Fprintf(b.Progress, "%.4g records/s for %s, after a warm-up of %s\n", b.Rate, b.Duration, b.Warmup)
	r, err := b.trial(ctx, b.Rate, false)
	b.add(&b.report.Results, r)
	return err
}

// settle waits until the service is ready and then for Plan.Idle, and reads its memory.
func (b *bench) settle(ctx context.Context) error {
	took, err := b.Process.WaitReady(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.Progress, "the service was ready after %s; idle for %s\n", took.Round(time.Millisecond), b.Idle)
	idle := time.NewTimer(b.Idle)
	defer idle.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-idle.C:
	}
	s, err := scrape(ctx, b.Metrics)
	if err != nil {
		return err
	}
	b.report.Service = &Service{StartMS: milliseconds(took), IdleBytes: int64(s.memory), SettledSecs: b.Idle.Seconds()}
	return nil
}

// add appends a result, unless nothing was published.
func (b *bench) add(to *[]Result, r Result) {
	if r.Published == 0 {
		return
	}
	*to = append(*to, r)
	b.report.Missing += r.Missing
	if b.report.Service != nil {
		b.report.Service.UnderLoad = max(b.report.Service.UnderLoad, r.MostMemory)
	}
	verdict := "sustained"
	if !r.Sustained {
		verdict = "not sustained: " + r.Why
	}
	fmt.Fprintf(b.Progress, "%.4g records/s: delay p50 %.0f ms, p99 %.0f ms, %s\n", r.Rate, r.Delay.P50, r.Delay.P99, verdict)
}
