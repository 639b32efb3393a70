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
	Process   *Process // the service that was started
	Source    *sample.Feed
	Progress  io.Writer // one line for each step
}

// Plan holds rate, times and limits of a run.
type Plan struct {
	Rate     float64       // records per second
	Duration time.Duration // after the warm-up
	Warmup   time.Duration // records published meanwhile need verdicts, but their delay is not measured
	Idle     time.Duration // time without load before the idle memory of Process is read
	Patience time.Duration // missing verdicts are given up when none has come for this long
}

const (
	mostRate = 1e6
	// mostRecords bounds the memory of the ledger: 16 bytes a record.
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
		{p.Rate*p.Duration.Seconds() >= 10, "--rate times --duration is less than 10 records: raise one"},
		{p.Rate*(p.Warmup+p.Duration).Seconds() <= mostRecords,
			"--rate times --duration is more than 20 million records: lower one"},
	} {
		if !f.ok {
			return errors.New(f.why)
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
	if m.report.Service != nil {
		m.report.Service.PeakBytes = m.Process.child.PeakMemory()
	}
	m.report.Interrupted = errors.Is(err, context.Canceled)
	return m.report, err
}

// whileServiceRuns returns a context that ends when the process of the service does. Its cause is the reason.
func (m *measurement) whileServiceRuns(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(nil) }
	go func() {
		select {
		case <-m.Process.ended:
			cancel(m.Process.fault)
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

func (m *measurement) measure(ctx context.Context) error {
	if err := m.settle(ctx); err != nil {
		return err
	}
	fmt.Fprintf(m.Progress, "%.4g records/s for %s, after a warm-up of %s\n", m.Rate, m.Duration, m.Warmup)
	r, err := m.trial(ctx)
	m.report.Result, m.report.Service.UnderLoad = r, r.MostMemory
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
	s, err := scrape(ctx, m.Process.URL)
	if err != nil {
		return err
	}
	m.report.Service = &Service{StartMS: milliseconds(took), IdleBytes: int64(s.memory), SettledSecs: m.Idle.Seconds()}
	return nil
}
