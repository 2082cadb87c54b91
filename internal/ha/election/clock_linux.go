package election

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Now is the time on a clock that goes on while the machine is suspended: the monotonic clock of package time does not,
// and a leader on a machine that wakes up would answer on.
func Now() Instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(fmt.Sprintf("election: CLOCK_BOOTTIME: %v", err)) // every Linux has had it since 2.6.39
	}
	return Instant(t.Nano())
}
