// Package child starts processes that end at the latest with the process that started them.
package child

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a process that was started. Its methods are safe for concurrent use.
type Process struct {
	Cmd  *exec.Cmd
	Done chan struct{} // closed when the process has ended and its output is copied
	err  error         // set before Done is closed
}

// Start starts the command in a new process group: Ctrl-C then reaches only the caller's process, which stops
// the child in order. On Linux the system kills the child when the caller's process ends in any other way.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{Cmd: cmd, Done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.Done)
	}()
	return p, nil
}

// Err waits for the end of the process and returns the error of exec.Cmd.Wait.
func (p *Process) Err() error {
	<-p.Done
	return p.err
}

// Ended tells whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// Stop sends SIGTERM and waits for the end. A process that has not ended after the given time is killed, and
// inTime is false. Stopping twice does no harm.
func (p *Process) Stop(patience time.Duration) (inTime bool) {
	_ = p.Cmd.Process.Signal(syscall.SIGTERM) // fails only if the process has ended
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-p.Done:
		return true
	case <-timeout.C:
		p.Kill()
		return false
	}
}

// Kill sends SIGKILL and waits for the end.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // fails only if the process has ended
	<-p.Done
}

// PeakMemory is the most resident memory that the process has had so far, its start included, in bytes. It is
// 0 except on Linux: other systems do not report it. Rusage.Maxrss is no substitute: it counts the memory of
// the parent, from which the process was forked.
func (p *Process) PeakMemory() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	var kib int64
	_, _ = fmt.Sscan(string(rest), &kib) // nothing to scan: 0
	return kib << 10
}
