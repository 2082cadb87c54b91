package sim

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Event is a change of an allocation.
type Event struct {
	Kind    EventKind
	Key     objects.AllocationKey
	Node    objects.NodeID
	Amounts resources.Amounts
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events.
const (
	Placed    EventKind = iota // the scheduler gave it a node
	Preempted                  // it was preempted, and the client confirmed it
	Released                   // it was released for another reason
)

func (k EventKind) String() string { return [...]string{"placed", "preempted", "released"}[k] }

// Log returns all events in the order in which they were received, or for confirmations sent.
func (c *Client) Log() []Event { return c.LogFrom(0) }

// LogFrom returns the events of Log after the first n.
func (c *Client) LogFrom(n int) []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.log[n:])
}

// Rejection is a rejected ask. Its JSON form is stable: other programs read it.
type Rejection struct {
	Key    objects.AllocationKey `json:"key"`
	Reason string                `json:"reason"`
}

// Rejections returns the rejected asks, in the order in which they were rejected.
func (c *Client) Rejections() []Rejection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.rejections)
}

// rejected reports whether the ask with the key was rejected.
func (c *Client) rejected(key objects.AllocationKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.askStates[key] == nil && slices.ContainsFunc(c.rejections, func(r Rejection) bool { return r.Key == key })
}

// Balance are the totals of the log and the running allocations. Its JSON form is stable: other
// programs read it.
type Balance struct {
	Placed    Sum `json:"placed"`
	Preempted Sum `json:"preempted"`
	Released  Sum `json:"released"`
	Running   Sum `json:"running"`
}

// Sum is a number of allocations and their resources.
type Sum struct {
	Allocations int             `json:"allocations"`
	Resources   demo.Quantities `json:"resources"`
}

// Balance adds up the log by node and compares it with the running allocations. The error names the
// difference: an allocation was lost, or counted twice.
func (c *Client) Balance() (Balance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var number [3]int
	var took [3]resources.Amounts
	on := map[objects.NodeID]resources.Amounts{}
	for _, e := range c.log {
		number[e.Kind]++
		took[e.Kind] = took[e.Kind].Add(e.Amounts)
		if e.Kind == Placed {
			on[e.Node] = on[e.Node].Add(e.Amounts)
		} else {
			on[e.Node] = on[e.Node].Sub(e.Amounts)
		}
	}
	running, holds := 0, resources.Amounts{}
	runs := map[objects.NodeID]resources.Amounts{}
	for _, t := range c.askStates {
		if t.node != "" {
			running++
			holds = holds.Add(t.Amounts)
			runs[t.node] = runs[t.node].Add(t.Amounts)
		}
	}
	sum := func(k EventKind) Sum { return Sum{number[k], took[k].Map()} }
	out := Balance{sum(Placed), sum(Preempted), sum(Released), Sum{running, holds.Map()}}
	for _, m := range c.sortedMachines() {
		if !on[m.ID].Equal(runs[m.ID]) || !on[m.ID].Equal(m.used) {
			return out, fmt.Errorf("node %s: the log leaves %v, %v runs there, and %v is counted",
				m.ID, on[m.ID], runs[m.ID], m.used)
		}
	}
	if left := number[Placed] - number[Preempted] - number[Released]; left != running {
		return out, fmt.Errorf("of %d allocations %d were preempted and %d released, which leaves %d, and %d run",
			number[Placed], number[Preempted], number[Released], left, running)
	}
	if left := took[Placed].Sub(took[Preempted]).Sub(took[Released]); !left.Equal(holds) {
		return out, fmt.Errorf("the log leaves %v, and %v runs", left, holds)
	}
	return out, nil
}
