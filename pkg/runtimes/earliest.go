package runtimes

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Reserved says until when an ask waits for the node that it has reserved (RUN-8).
type Reserved struct {
	Node objects.NodeID `json:"nodeID"`
	// when the node has enough if everything on it ends at its bound, its grace and its termination grace; missing: it
	// has enough already, or nothing says when
	FitsAt objects.Timestamp `json:"fitsAt,omitzero"`
	// the allocations that have ended by then, in the order of their ends
	After []objects.AllocationKey `json:"after,omitempty"`
	// allocations that would have to end, too, and of which no end is known: without an enforced bound, or being released
	Endless []objects.AllocationKey `json:"endless,omitempty"`
}

// Reserved returns until when x waits for the node that it has reserved; nil: it has reserved none.
func (eng *Engine) Reserved(x *objects.Allocation) *Reserved {
	n := eng.part.Reservations().Of(x)
	if n == nil {
		return nil
	}
	eng.Refresh()
	missing := missingFor(eng.part, x, n)
	r := &Reserved{Node: n.ID()}
	var endless []*objects.Allocation
	var ending []*end
	for y := range n.EachAllocation {
		if e := eng.of[y]; e != nil && !eng.part.Preempting(y) {
			ending = append(ending, e)
		} else {
			endless = append(endless, y)
		}
	}
	slices.SortFunc(ending, func(a, b *end) int {
		return cmp.Or(a.gone().Compare(b.gone()), cmp.Compare(a.x.Key(), b.x.Key()))
	})
	for _, e := range ending {
		if enough.Covers(missing) {
			return r
		}
		if !holdsAny(e.x, missing) {
			continue
		}
		missing.Sub(e.x.Shape().Vector())
		r.FitsAt, r.After = objects.TimestampOf(e.gone()), append(r.After, e.x.Key())
	}
	if !enough.Covers(missing) {
		r.FitsAt = 0
		r.Endless = holdersOf(endless, missing)
	}
	return r
}

// enough covers what is missing if nothing is.
var enough resources.Vector

// gone returns when e.x has ended at the latest: after its release it has its termination grace (PRE-86).
func (e *end) gone() time.Time { return e.due.Add(priorities.GracePeriodOf(e.x.Ask().Tags())) }

// missingFor returns, as a new vector, what n lacks for x beside what is held there for other asks; negative: it has
// more than enough.
func missingFor(p *objects.Partition, x *objects.Allocation, n *objects.Node) resources.Vector {
	missing := slices.Clone(x.Shape().Vector())
	for i := range missing {
		if missing[i] > 0 {
			missing[i] = resources.SubSaturated(missing[i], p.Reservations().FreeFor(x, n, resources.Index(i)))
		}
	}
	return missing
}

// holdersOf returns the allocations that hold something of what is missing, by key.
func holdersOf(all []*objects.Allocation, missing resources.Vector) (keys []objects.AllocationKey) {
	for _, y := range all {
		if holdsAny(y, missing) {
			keys = append(keys, y.Key())
		}
	}
	slices.Sort(keys)
	return keys
}

func holdsAny(y *objects.Allocation, missing resources.Vector) bool {
	for k, n := range missing {
		if n > 0 && y.Shape().Vector().At(resources.Index(k)) > 0 {
			return true
		}
	}
	return false
}

// Text is the clause for an explanation, after one that says that x waits for a node; empty: no end on the node is
// known.
func (r *Reserved) Text() string {
	if r == nil || len(r.After) == 0 {
		return ""
	}
	if len(r.Endless) > 0 {
		text := fmt.Sprintf("; nothing says when node %s has enough: no end is known of %s", r.Node, r.Endless[0])
		if more := len(r.Endless) - 1; more > 0 {
			text += fmt.Sprintf(" and %d others", more)
		}
		return text
	}
	last := len(r.After) - 1
	text := fmt.Sprintf("; node %s has enough at %s at the latest, when %s has ended", r.Node,
		r.FitsAt.Time().Format(time.RFC3339), r.After[last])
	if last > 0 {
		text += fmt.Sprintf(", after %d others", last)
	}
	return text
}
