package child

import (
	"bytes"
	"fmt"
	"os"
)

// PeakMemory is the most resident memory that a process has had so far, in bytes; 0 if unknown, as it is everywhere but on
// Linux. What the system says at a process's end will not do: it counts the memory of the parent, from which the
// process was forked.
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
