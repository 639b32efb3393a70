//go:build !linux

package child

import "syscall"

// DiesWithParent does nothing: only Linux has this.
func DiesWithParent() *syscall.SysProcAttr { return nil }
