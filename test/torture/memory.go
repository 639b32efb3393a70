package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"
)

// watchMemory notes the most memory that any process has taken, where the system tells. What the system says at a
// process's end will not do: it counts the memory of the runner, from which the process was forked.
func (r *round) watchMemory(ctx context.Context) {
	for pause(ctx, 500*time.Millisecond) == nil {
		r.mu.Lock()
		for _, p := range r.processes {
			r.peakMemory = max(r.peakMemory, peakMemory(p.cmd.Process.Pid))
		}
		r.mu.Unlock()
	}
}

// peakMemory is the most resident memory that a process has had so far, in bytes; 0 if unknown.
func peakMemory(pid int) int64 {
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
