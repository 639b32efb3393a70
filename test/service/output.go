package service

import (
	"bytes"
	"strings"
	"sync"
)

// Output collects what a process prints: it is for Stdout or Stderr of an exec.Cmd, and can be read while the
// process runs. Safe for concurrent use. It hides the buffer's other methods: os/exec would copy into its
// ReadFrom, past the lock.
type Output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

// String returns what was printed so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// Lines returns the lines that are complete so far.
func (o *Output) Lines() []string {
	all := strings.Split(o.String(), "\n")
	return all[:len(all)-1]
}
