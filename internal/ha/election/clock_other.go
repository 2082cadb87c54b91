//go:build !linux

package election

import "time"

var origin = time.Now()

// Now is the time on the monotonic clock of package time. It may stand still while the machine is suspended
// (docs/HA.md).
func Now() Instant { return Instant(time.Since(origin)) }
