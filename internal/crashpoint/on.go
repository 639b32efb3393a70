//go:build crashpoints

package crashpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var (
	wanted Point
	nth    int64
	signal = syscall.SIGKILL
	passed atomic.Int64
)

func init() {
	text := os.Getenv(Variable)
	if text == "" {
		return
	}
	parts := strings.Split(text, ":")
	if len(parts) == 3 && parts[2] == "term" {
		parts, signal = parts[:2], syscall.SIGTERM
	}
	if len(parts) == 2 {
		wanted = Point(parts[0])
		nth, _ = strconv.ParseInt(parts[1], 10, 64)
	}
	if nth < 1 {
		panic("crashpoint: " + Variable + " wants <point>:<n> or <point>:<n>:term, not " + text)
	}
}

// Here ends the process if the environment names p and this is the nth call for it.
func Here(p Point) {
	if p != wanted || passed.Add(1) != nth {
		return
	}
	fmt.Fprintf(os.Stderr, "crashpoint %s: %s\n", p, signal)
	_ = syscall.Kill(os.Getpid(), signal)
	if signal == syscall.SIGKILL {
		select {} // the kernel may deliver the signal late; this goroutine must do nothing until then
	}
}
