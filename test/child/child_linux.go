package child

import "syscall"

// DiesWithParent makes the system kill a process when the one that started it ends, however that happens: a test that
// is killed runs no cleanup.
func DiesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
