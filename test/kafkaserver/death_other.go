//go:build !linux

package kafkaserver

import "syscall"

func deathSignal() *syscall.SysProcAttr { return nil }
