//go:build !linux

package bench

import "time"

// preciseSleep is up to a millisecond late when nothing else happens.
func preciseSleep(d time.Duration) { time.Sleep(d) }
