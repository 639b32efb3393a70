package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"echosieve/consumer/broker"
	"echosieve/sample"
)

// Setup says where the articles come from and where they go.
type Setup struct {
	Kafka     broker.Config
	InProcess bool     // Kafka and Redis are in this process
	Process   *Process // the service that was started; nil: services that run already are measured
	Metrics   []string // URLs of /metrics of the services
	Source    *sample.Feed
	Progress  io.Writer // one line for each step
}

// Plan holds rate, times and limits of a run.
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
		{p.Rate*(p.Warmup+p.Duration).Seconds() <= mostRecords,
			"--rate times --duration is more than 20 million records: lower one"},
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

// measurement is a run in progress.
type measurement struct {
	Setup
	Plan
	report Report
}

// Run measures. After an error the report holds the figures until then. The plan must be valid.
func Run(ctx context.Context, setup Setup, plan Plan) (Report, error) {
	m := &measurement{Setup: setup, Plan: plan, report: Report{Servers: "configured"}}
	if setup.InProcess {
		m.report.Servers = "in-process"
	}
	ctx, stop := m.whileServiceRuns(ctx)
	defer stop()
	err := m.measure(ctx)
	if m.Process != nil && m.report.Service != nil {
		m.report.Service.PeakBytes = m.Process.child.PeakMemory()
	}
	m.report.Interrupted = errors.Is(err, context.Canceled)
	return m.report, err
}

// whileServiceRuns returns a context that ends when the process of the service does. Its cause is the reason.
func (m *measurement) whileServiceRuns(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(nil) }
	if m.Process != nil {
		go func() {
			select {
			case <-m.Process.ended:
				cancel(m.Process.fault)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, stop
}

func (m *measurement) measure(ctx context.Context) error {
	if m.Process != nil {
		if err := m.settle(ctx); err != nil {
			return err
		}
	}
	if _, err := scrape(ctx, m.Metrics); err != nil {
		return err
	}
	if m.FindLimit {
		return m.limitAndShares(ctx)
	}
	fmt.Fprintf(m.Progress, "%.4g records/s for %s, after a warm-up of %s\n", m.Rate, m.Duration, m.Warmup)
	r, err := m.trial(ctx, m.Rate, false)
	m.add(&m.report.Results, r)
	return err
}

// settle waits until the service is ready and then for Plan.Idle, and reads its memory.
func (m *measurement) settle(ctx context.Context) error {
	took, err := m.Process.WaitReady(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Progress, "the service was ready after %s; idle for %s\n", took.Round(time.Millisecond), m.Idle)
	idle := time.NewTimer(m.Idle)
	defer idle.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-idle.C:
	}
	s, err := scrape(ctx, m.Metrics)
	if err != nil {
		return err
	}
	m.report.Service = &Service{StartMS: milliseconds(took), IdleBytes: int64(s.memory), SettledSecs: m.Idle.Seconds()}
	return nil
}

// add appends a result, unless nothing was published.
func (m *measurement) add(to *[]Result, r Result) {
	if r.Published == 0 {
		return
	}
	*to = append(*to, r)
	m.report.Missing += r.Missing
	if m.report.Service != nil {
		m.report.Service.UnderLoad = max(m.report.Service.UnderLoad, r.MostMemory)
	}
	verdict := "sustained"
	if !r.Sustained {
		verdict = "not sustained: " + r.Why
	}
	fmt.Fprintf(m.Progress, "%.4g records/s: delay p50 %.0f ms, p99 %.0f ms, %s\n", r.Rate, r.Delay.P50, r.Delay.P99,
		verdict)
}
