package runtimes

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Reserved says until when an ask waits for the node that it has reserved (RUN-8).
type Reserved struct {
	Node objects.NodeID `json:"nodeID"`
	// when the node has enough if everything on it ends at its bound, its grace and its termination grace; missing: it
	// has enough already, or nothing says when
	FitsAt objects.Timestamp `json:"fitsAt,omitzero"`
	// the allocations that have ended by then, in the order of their ends
	After []objects.AllocationKey `json:"after,omitempty"`
	// allocations that would have to end, too, and of which no end is known: without an enforced bound, or overdue
	Endless []objects.AllocationKey `json:"endless,omitempty"`
	// of a member of a gang: when all members fit the nodes that they have reserved together, likewise
	TogetherAt objects.Timestamp `json:"togetherAt,omitzero"`
}

// Reserved returns until when x waits for the node that it has reserved; nil: it has reserved none.
func (eng *Engine) Reserved(x *objects.Allocation) *Reserved {
	l := eng.part.Reservations()
	n := l.Of(x)
	if n == nil {
		return nil
	}
	r, o := &Reserved{Node: n.ID()}, eng.Outlook(n)
	free := FreeFor(n, func(y *objects.Allocation) bool { return y == x })
	ends, left := o.until(Missing(slices.Clone(x.Shape().Vector()), free))
	for _, y := range ends {
		r.After = append(r.After, y.x.Key())
	}
	switch {
	case !enough.Covers(left):
		r.Endless = holdersOf(o.endless, left)
	case len(ends) > 0:
		r.FitsAt = objects.TimestampOf(ends[len(ends)-1].gone)
	}
	if l.Together(x) {
		if at, known := eng.FitAt(l.MembersTogether()); known && !at.IsZero() {
			r.TogetherAt = objects.TimestampOf(at)
		}
	}
	return r
}

// Text is the clause for an explanation, after one that says that x waits for a node; empty: no end on the node is
// known.
func (r *Reserved) Text() string {
	if r == nil || len(r.After) == 0 && r.TogetherAt.IsZero() {
		return ""
	}
	if len(r.Endless) > 0 {
		text := fmt.Sprintf("; nothing says when node %s has enough: no end is known of %s", r.Node, r.Endless[0])
		if more := len(r.Endless) - 1; more > 0 {
			text += fmt.Sprintf(" and %d others", more)
		}
		return text
	}
	text := ""
	if last := len(r.After) - 1; last >= 0 {
		text = fmt.Sprintf("; node %s has enough at %s at the latest, when %s has ended", r.Node,
			r.FitsAt.Time().Format(time.RFC3339), r.After[last])
		if last > 0 {
			text += fmt.Sprintf(", after %d others", last)
		}
	}
	if !r.TogetherAt.IsZero() {
		text += fmt.Sprintf("; all members of its gang fit at %s at the latest",
			r.TogetherAt.Time().Format(time.RFC3339))
	}
	return text
}
