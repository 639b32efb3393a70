//go:build !linux

package load

import "syscall"

// childAttributes put a process into a group of its own, so that Ctrl-C reaches only its parent, which stops it in order.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
