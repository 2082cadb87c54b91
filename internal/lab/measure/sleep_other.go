//go:build !linux

package measure

import "time"

// PreciseSleep sleeps. It is up to a millisecond late on an idle process.
func PreciseSleep(d time.Duration) { time.Sleep(d) }
