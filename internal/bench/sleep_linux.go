package bench

import (
	"syscall"
	"time"
)

// preciseSleep blocks the thread. A timer of the runtime is up to a millisecond late when
// nothing else happens.
func preciseSleep(d time.Duration) {
	t := syscall.NsecToTimespec(d.Nanoseconds())
	// Being woken too early is no harm: who waits looks at the clock again.
	_ = syscall.Nanosleep(&t, nil)
}
