//go:build !linux

package bench

import "time"

// pause is up to a millisecond late when nothing else happens.
func pause(d time.Duration) { time.Sleep(d) }
