package objects

import "time"

// WaitingState says why a pending ask waits, as far as an autoscaler needs to know it: what was last
// reported to the resource manager (ASK-62). The numbers are those of the interface.
type WaitingState uint8

// The states.
const (
	WaitUnreported WaitingState = 0 // nothing was reported yet
	WaitSkipped    WaitingState = 1 // a quota keeps it from being placed, whatever nodes there are
	WaitFailed     WaitingState = 4 // its quotas allow it, and no node can take it, whether or not it has reserved one
)

func (s WaitingState) String() string {
	switch s {
	case WaitSkipped:
		return "SKIPPED"
	case WaitFailed:
		return "FAILED"
	}
	return "UNREPORTED"
}

// WaitingReport has what was last reported to the RM about a pending ask. The zero value: nothing was.
type WaitingReport struct {
	State WaitingState
	// Blocked is why a WaitSkipped ask is not allowed by its quotas, as the number of a scheduler.PendingReason below 32;
	// 0 in other states.
	Blocked uint8
	At      time.Time // when the state began, down to 256 ns; zero: it is WaitUnreported
}

// A report takes the place of the time of the bind in an Allocation, of which there may be a million: the state and the
// reason are in the low bits of the time.
const (
	stateBits  = 3
	reportBits = stateBits + 5
)

// WaitingReport returns what was last reported to the RM about x. Requires: x is pending.
func (x *Allocation) WaitingReport() WaitingReport {
	r := WaitingReport{
		State:   WaitingState(x.boundAt & (1<<stateBits - 1)),
		Blocked: uint8(x.boundAt & (1<<reportBits - 1) >> stateBits),
	}
	if r.State != WaitUnreported {
		r.At = time.Unix(0, x.boundAt>>reportBits<<reportBits).UTC()
	}
	return r
}

// WaitingState is the state in WaitingReport. Requires: x is pending.
func (x *Allocation) WaitingState() WaitingState { return x.WaitingReport().State }

// SetWaitingReport records what is reported to the RM about x. Requires: x is pending.
func (x *Allocation) SetWaitingReport(r WaitingReport) {
	if r.State == WaitUnreported {
		x.boundAt = 0
		return
	}
	x.boundAt = r.At.UnixNano()>>reportBits<<reportBits | int64(r.Blocked)<<stateBits | int64(r.State)
}

// ReportWaitingState records what is reported to the RM about x, another state than before. Requires: x is pending in
// p.
func ReportWaitingState(p *Partition, x *Allocation, r WaitingReport) {
	x.SetWaitingReport(r)
	p.journal.post(Change{Kind: WaitingStateChanged, Ask: x})
}

// PendingCount is the number of pending asks of g.
func (g *AskGroup) PendingCount() int { return len(g.SchedulableAsks()) + len(g.unschedulableAsks()) }
