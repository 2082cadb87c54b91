//go:build !linux

package bench

import "time"

// preciseSleep is up to a millisecond late on an idle process.
func preciseSleep(d time.Duration) { time.Sleep(d) }
