package load

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/internal/app/command/commandtest"
)

// The longest report: a search for the limit on a large machine that fell behind.
func TestReportFitsATerminal(t *testing.T) {
	made := Made{Originals: 1234567, Near: 234567, Exact: 234567}
	verdicts := map[string]int{"unique": 1234567, "near": 234567, "exact": 234567, "possible": 12345, "dead": 123}
	slow := Delay{P50: 12345, P90: 23456, P99: 34567, Max: 45678}
	r := Report{
		Service: &Service{StartMS: 1234, IdleBytes: 60 << 20, UnderLoad: 1234 << 20, PeakBytes: 2345 << 20},
		Limit:   &Limit{PerSecond: 12345, NotSustained: 12999, Rule: Plan{MaxDelay: time.Minute}.Rule()},
		Results: []Result{
			{Rate: 12345, Share: 100, Throughput: 12345, Delay: slow, CPU: 1234, MostMemory: 1234 << 20,
				MostLag: 1234567, Made: made, Verdicts: verdicts, Published: 1703701, Sustained: true},
			{Rate: 300, Delay: slow, Verdicts: verdicts,
				Why: "the records without a verdict grew to more than ten seconds of the rate, and the lag did not fall"},
		},
	}
	var b strings.Builder
	r.Print(&b)
	commandtest.FitsTerminal(t, b.String())
	for _, want := range []string{"records ", "100 %", "1234567", "unknown", "not sustained"} {
		require.Contains(t, b.String(), want)
	}
}
