package objects

// WaitingState is why a pending ask waits, as far as an autoscaler needs to know it: what was last
// reported to the resource manager (ASK-62). The numbers are those of the interface.
type WaitingState uint8

// The states.
const (
	WaitUnreported WaitingState = 0 // nothing was reported yet
	WaitSkipped    WaitingState = 1 // a quota keeps it from being placed, whatever nodes there are
	WaitReserved   WaitingState = 3 // its quotas allow it, and it has reserved a node
	WaitFailed     WaitingState = 4 // its quotas allow it, no node can take it, and it has reserved none
)

func (s WaitingState) String() string {
	switch s {
	case WaitSkipped:
		return "SKIPPED"
	case WaitReserved:
		return "RESERVED"
	case WaitFailed:
		return "FAILED"
	}
	return "UNREPORTED"
}

// WaitingState is what was last reported to the RM about x. Requires: x is pending.
func (x *Allocation) WaitingState() WaitingState { return WaitingState(x.boundAt) }

// SetWaitingState records what is reported to the RM about x. Requires: x is pending.
func (x *Allocation) SetWaitingState(s WaitingState) { x.boundAt = int64(s) }

// ReportWaitingState records what is reported to the RM about x, another state than before. Requires: x is pending in p.
func ReportWaitingState(p *Partition, x *Allocation, s WaitingState) {
	x.SetWaitingState(s)
	p.journal.waitingStateChanged(x)
}

// PendingCount is the number of pending asks of g.
func (g *AskGroup) PendingCount() int { return len(g.SchedulableAsks()) + len(g.unschedulableAsks()) }

// AllowedByQuotas records that the quotas allow the first n of the asks of g that wait for a node, counting from the
// first. It reports whether that is new: another number, or other asks than at the last call.
func (g *AskGroup) AllowedByQuotas(n int) (changed bool) {
	changed = g.allowed != int32(n)
	g.allowed = int32(n)
	return changed
}
