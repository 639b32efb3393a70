package load

import "syscall"

// childAttributes put a process into a group of its own, so that Ctrl-C reaches only its parent, which stops it in order. The system
// kills it when the parent ends in any other way.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
