package measure

import (
	"syscall"
	"time"
)

// PreciseSleep blocks the thread. A timer of the runtime is up to a millisecond late on an idle
// process.
func PreciseSleep(d time.Duration) {
	t := syscall.NsecToTimespec(d.Nanoseconds())
	// An early return is harmless: callers check the clock.
	_ = syscall.Nanosleep(&t, nil)
}
