//go:build !linux

package main

import "syscall"

func deathSignal() *syscall.SysProcAttr { return nil }
