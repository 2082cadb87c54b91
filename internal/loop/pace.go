package loop

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A shim in the same process calls the API server once for each placement, all at the same time: more calls than one connection has
// streams for make the client open further ones, each with a handshake of TLS, which costs both sides more than the calls do. So
// placements for such a shim may be bounded in time (RMI-82).

// paceBurst is how many placements are made at once before they pause.
const paceBurst = 32

// pace bounds the placements per second. The zero value bounds nothing.
type pace struct {
	every time.Duration // between two placements on average; 0: there is no bound
	next  time.Time     // when the placements so far are paid for
	until time.Time     // until then nothing is placed
}

// paceOf is a pace of some placements a second; 0: no bound.
func paceOf(perSecond int) pace {
	if perSecond <= 0 {
		return pace{}
	}
	return pace{every: time.Second / time.Duration(perSecond)}
}

// note notes the effects of a decision.
func (p *pace) note(effects []scheduler.Effect, now time.Time) {
	for _, e := range effects {
		if _, ok := e.(scheduler.Allocated); !ok {
			continue
		}
		if p.next.Before(now) {
			p.next = now
		}
		if p.next = p.next.Add(p.every); p.next.Sub(now) >= paceBurst*p.every {
			p.until = p.next
		}
	}
}

// pausedUntil is the end of a pause; zero: nothing waits for one.
func (l *Loop) pausedUntil() time.Time {
	if !l.needsScheduling {
		return time.Time{}
	}
	return l.pace.until
}

// pauses reports whether the placements pause.
func (l *Loop) pauses() bool {
	return l.pace.every > 0 && l.now().Before(l.pace.until)
}
