package load

import (
	"context"
	"fmt"
	"time"
)

const (
	// closeEnough ends the search: the lowest rate that was not sustained is at most this many times the
	// highest one that was.
	closeEnough = 1.1
	// leastRate ends a search in which no rate is sustained.
	leastRate = 1
)

// limitAndShares searches for the limit and then measures at Plan.Shares of it.
func (m *measurement) limitAndShares(ctx context.Context) error {
	limit := search(m.Rate, time.Now().Add(m.LimitTime), func(rate float64) (bool, error) {
		return m.sustains(ctx, rate)
	})
	if limit.err != nil {
		return limit.err
	}
	m.report.Limit = &Limit{PerSecond: limit.sustained, NotSustained: limit.not, Rule: m.Rule()}
	if limit.sustained == 0 {
		return fmt.Errorf("no rate from %.4g records/s down was sustained within --limit-time %s; start lower "+
			"with --rate, or allow more with --max-delay or --limit-time",
			limit.not, m.LimitTime)
	}
	fmt.Fprintf(m.Progress, "the limit is %.4g records/s\n", limit.sustained)
	for _, share := range m.Shares {
		r, err := m.trial(ctx, limit.sustained*float64(share)/100, false)
		r.Share = share
		m.add(&m.report.Results, r)
		if err != nil {
			return err
		}
	}
	return nil
}

// sustains tells whether a rate is sustained in at least one of two trials. A second trial is allowed because
// a machine that others use as well can stand still for a moment.
func (m *measurement) sustains(ctx context.Context, rate float64) (bool, error) {
	for range 2 {
		r, err := m.trial(ctx, rate, true)
		m.add(&m.report.Trials, r)
		if err != nil {
			return false, err
		}
		if r.Sustained {
			return true, nil
		}
	}
	return false, nil
}

// found is the outcome of a search.
type found struct {
	sustained, not float64 // 0: none was tried
	err            error
}

// search finds the highest rate that is sustained. If the first rate is sustained, it doubles the rate until
// one is not; else it halves the rate until one is. Then it bisects. After the deadline it starts no further
// trial.
func search(rate float64, deadline time.Time, sustains func(rate float64) (bool, error)) found {
	var f found
	for time.Now().Before(deadline) && rate >= leastRate && rate <= mostRate {
		ok, err := sustains(rate)
		switch {
		case err != nil:
			f.err = err
			return f
		case ok:
			f.sustained = rate
		default:
			f.not = rate
		}
		switch {
		case f.not == 0:
			rate = 2 * f.sustained
		case f.sustained == 0:
			rate = f.not / 2
		case f.not <= closeEnough*f.sustained:
			return f
		default:
			rate = (f.sustained + f.not) / 2
		}
	}
	return f
}
