package host

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// CPU is the CPU time of some work, which is repeated until it has taken least. Of work that ends within a millisecond
// least must be more than that, because the system counts no finer. Unlike the clock, CPU time does not depend on the
// load of the machine.
func CPU(t testing.TB, least time.Duration, work func()) time.Duration {
	t.Helper()
	now := func() time.Duration {
		var usage syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	start, times, took := now(), time.Duration(0), time.Duration(0)
	for times == 0 || took < least {
		work()
		times++
		took = now() - start
	}
	return took / times
}

// Ratio is how many times the CPU time of short long takes. The median of five decides, of which the others are
// measured if the first is not below enough. Each is at least a millisecond, because less depends on caches.
func Ratio(t testing.TB, least time.Duration, enough float64, short, long func()) float64 {
	t.Helper()
	var ratios []float64
	for len(ratios) < 5 && (len(ratios) != 1 || ratios[0] >= enough) {
		took := max(CPU(t, least, long), time.Millisecond)
		ratios = append(ratios, float64(took)/float64(max(CPU(t, least, short), time.Millisecond)))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// Allocated is how many bytes some work allocates, also those that are free again at its end.
func Allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
