package scheduler

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Verdict is why an ask is not placed. It is not an error: most asks in a busy cluster
// have one most of the time. It is worked out when somebody wants to know, so it is
// never old and costs a decision nothing.
type Verdict struct {
	Obstacle Obstacle
	Where    string // the queue, application or node that stands in the way; may be empty

	// Whose ask it is, and which groups were found for the user. Empty when NotPending.
	App  objects.AppID
	User security.User
}

// Obstacle is what stands in an ask's way.
type Obstacle uint8

// The obstacles, in the order in which an ask meets them.
const (
	NotPending      Obstacle = iota // there is no such ask, or it has its node
	WaitsForTurn                    // nothing: it can be placed when its turn comes
	WaitsToStart                    // a newer application of a stateaware leaf: Where goes first
	QueueFull                       // Where runs as many applications as it may
	HolderFull                      // a user or a group does, in a queue: Where is both
	OverLimit                       // the limit of a user or a group does not allow it: Where is who, and in which queue
	WaitsForVictims                 // others were told to leave node Where for it, and have not all left
	OverMax                         // Where has no headroom for it
	UnknownNode                     // the only node it accepts, Where, does not exist
	NoNodeFits                      // no schedulable node has room; with Where: the required one has none
	NodesRefuse                     // the RM said no to every node that has room
	NodeIsTaken                     // others have left node Where for it, and there is no room all the same
	NodeRefuses                     // others have left node Where for it, and the RM says no all the same
)

func (v Verdict) String() string {
	switch v.Obstacle {
	case WaitsForTurn:
		return "waits for its turn"
	case WaitsToStart:
		return fmt.Sprintf("waits for application %s to start", v.Where)
	case QueueFull:
		return fmt.Sprintf("queue %s runs as many applications as it may", v.Where)
	case HolderFull:
		return fmt.Sprintf("%s runs as many applications as it may", v.Where)
	case OverLimit:
		return fmt.Sprintf("over the limit of %s", v.Where)
	case WaitsForVictims:
		return fmt.Sprintf("waits until others have left node %s", v.Where)
	case OverMax:
		return fmt.Sprintf("no headroom in queue %s", v.Where)
	case UnknownNode:
		return fmt.Sprintf("its required node %s does not exist", v.Where)
	case NoNodeFits:
		if v.Where != "" {
			return fmt.Sprintf("its required node %s has no room", v.Where)
		}
		return "no node has room"
	case NodeIsTaken:
		return fmt.Sprintf("node %s has no room after all", v.Where)
	case NodeRefuses:
		return fmt.Sprintf("the resource manager refuses node %s after all", v.Where)
	case NodesRefuse:
		return "the resource manager refuses every node that has room"
	}
	return "not pending"
}

// Why says what stands in the way of an ask now.
func (c *Core) Why(key objects.AllocationKey) Verdict {
	x, ok := c.part.Allocation(key)
	if !ok || !x.Pending() {
		return Verdict{}
	}
	c.part.Settle()
	v := Verdict{App: x.Application().ID(), User: x.Application().User()}
	v.Obstacle, v.Where = c.obstacle(x)
	return v
}

func (c *Core) obstacle(x *objects.Allocation) (o Obstacle, where string) {
	a, s := x.Application(), x.Shape()
	if n := c.part.Nomination(x); n != nil {
		return WaitsForVictims, string(n.ID())
	}
	if o, where := c.startObstacle(a); o != NotPending {
		return o, where
	}
	if o, where := c.quotaObstacle(x); o != NotPending {
		return o, where
	}
	if id := s.RequiredNode(); id != "" {
		if _, ok := c.part.Node(id); !ok {
			return UnknownNode, string(id)
		}
	}
	switch {
	case c.part.NodeFor(s) == nil:
		return NoNodeFits, string(s.RequiredNode())
	case c.part.Refused(x):
		return NodesRefuse, ""
	}
	return WaitsForTurn, ""
}

// startObstacle is what keeps a from being given anything at all; NotPending: nothing does.
func (c *Core) startObstacle(a *objects.Application) (o Obstacle, where string) {
	if !a.MayStart() {
		return WaitsToStart, string(a.Queue().Newcomer().ID())
	}
	return c.barrier(a)
}

// barrier is what keeps a from running; NotPending: nothing does.
func (c *Core) barrier(a *objects.Application) (o Obstacle, where string) {
	if q, h, barred := c.part.Barrier(a); barred && h == (objects.Holder{}) {
		return QueueFull, string(q.Path())
	} else if barred {
		return HolderFull, fmt.Sprintf("%s in queue %s", h, q.Path())
	}
	return NotPending, ""
}

// quotaObstacle is the limit or the max that keeps x from being placed now; NotPending: none.
func (c *Core) quotaObstacle(x *objects.Allocation) (o Obstacle, where string) {
	a, s := x.Application(), x.Shape()
	if q, h, over := c.part.OverLimit(a, s); over {
		return OverLimit, fmt.Sprintf("%s in queue %s", h, q.Path())
	}
	if q := c.part.Ceiling(a.Queue(), s); q != nil {
		return OverMax, string(q.Path())
	}
	return NotPending, ""
}

// wallObstacle is what a wall is to an ask.
func wallObstacle(w *objects.Wall) (o Obstacle, where string) {
	q, h := w.Where()
	if h == (objects.Holder{}) {
		return OverMax, string(q.Path())
	}
	return OverLimit, fmt.Sprintf("%s in queue %s", h, q.Path())
}
