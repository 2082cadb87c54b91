package serverprocess

import "syscall"

// attributes describe a process in a group of its own, which is asked to end when its parent has ended: otherwise a
// server of a benchmark that was killed would go on, and cost time in the next one.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
