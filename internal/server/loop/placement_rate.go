package loop

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A shim in the same process calls the API server once for each placement, all at the same time: more calls than one
// connection has streams for make the client open further ones, each with a handshake of TLS, which costs both sides
// more than the calls do. So there may be a rate limit of placements for such a shim (RMI-82).
//
// It is a token bucket that is refilled whole before it is used again: the loop is woken once for placementBurst
// placements, where a bucket that is used token by token, such as that of golang.org/x/time/rate, would wake it for
// each.

// placementBurst is the size of the bucket in tokens: placements that are made without a pause.
const placementBurst = 32

// placementRate is the bucket. The zero value limits nothing.
type placementRate struct {
	every time.Duration // in which one token is refilled; 0: there is no limit
	full  time.Time     // when the bucket is full again
	until time.Time     // until then nothing is placed: the bucket was empty
}

// placementRateOf is a full bucket for some placements a second; 0: no limit.
func placementRateOf(perSecond int) placementRate {
	if perSecond <= 0 {
		return placementRate{}
	}
	return placementRate{every: time.Second / time.Duration(perSecond)}
}

// take takes a token for each placement among the effects of a decision. A gang that is placed as a whole may take more
// than there are: the pause is longer then.
func (r *placementRate) take(effects []scheduler.Effect, now time.Time) {
	for _, e := range effects {
		if _, ok := e.(scheduler.Allocated); !ok {
			continue
		}
		if r.full.Before(now) {
			r.full = now
		}
		r.full = r.full.Add(r.every)
		if r.full.Sub(now) >= placementBurst*r.every {
			r.until = r.full
		}
	}
}

// rateLimited reports whether nothing is placed until the bucket is full again.
func (l *Loop) rateLimited() bool {
	return l.rate.every > 0 && l.now().Before(l.rate.until)
}

// rateLimitedUntil returns when placements go on; zero: none waits for that.
func (l *Loop) rateLimitedUntil() time.Time {
	if !l.needsScheduling {
		return time.Time{}
	}
	return l.rate.until
}
