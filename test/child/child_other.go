//go:build !linux

package child

import "syscall"

// DiesWithParent does nothing: only Linux can do it.
func DiesWithParent() *syscall.SysProcAttr { return nil }
