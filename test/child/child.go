// Package child measures the memory and the CPU time of processes that tests start. Package
// internal/app/child starts and ends them.
package child

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// PeakMemory is the most resident memory that a running process has had so far, in bytes. It is 0 if unknown,
// as on every system except Linux. The peak that the system reports after the end of a process is of no use:
// Linux counts the memory of the parent process, too, from which the process was forked.
func PeakMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	if !found {
		return 0
	}
	var kib int64
	_, _ = fmt.Sscan(string(rest), &kib)
	return kib << 10
}

// CPU is the CPU time that a running process has used so far, in seconds, to 10 ms. It needs Linux.
func CPU(t testing.TB, pid int) float64 {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	user, err := strconv.ParseFloat(string(fields[11]), 64)
	require.NoError(t, err)
	system, err := strconv.ParseFloat(string(fields[12]), 64)
	require.NoError(t, err)
	return (user + system) / 100
}
