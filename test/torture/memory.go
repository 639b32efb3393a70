package main

import (
	"context"
	"time"

	"echosieve/test/child"
)

// watchMemory notes the most memory that any process has taken, where the system tells.
func (r *round) watchMemory(ctx context.Context) {
	for pause(ctx, 500*time.Millisecond) == nil {
		r.mu.Lock()
		for _, p := range r.processes {
			r.peakMemory = max(r.peakMemory, child.PeakMemory(p.cmd.Process.Pid))
		}
		r.mu.Unlock()
	}
}
