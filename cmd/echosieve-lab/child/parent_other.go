//go:build !linux

package child

import "syscall"

// dieWithParent does nothing: only Linux has this.
func dieWithParent(*syscall.SysProcAttr) {}
