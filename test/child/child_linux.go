package child

import "syscall"

// DiesWithParent makes the system kill a process when the process that started it ends: a test that is killed runs no cleanup, and its
// servers would go on.
func DiesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
