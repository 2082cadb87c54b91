//go:build unix && !linux

package serverprocess

import "syscall"

// attributes returns those of a process in a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
