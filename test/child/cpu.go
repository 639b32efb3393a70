package child

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// CPU is the CPU time that a process has used so far, in seconds, counted in clock ticks of 10 ms.
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
