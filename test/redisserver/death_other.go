//go:build !linux

package redisserver

import "syscall"

func deathSignal() *syscall.SysProcAttr { return nil }
