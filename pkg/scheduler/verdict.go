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

// The obstacles, in the order in which an ask meets them. Nothing that ends can
// overcome the ones marked never: the ask, the nodes or the configuration must change.
const (
	NotPending      Obstacle = iota // there is no such ask, or it has its node
	WaitsForTurn                    // nothing: it can be placed when its turn comes
	WaitsForVictims                 // others were told to leave node Where for it, and have not all left
	AboveLimit                      // never: the limit of a user or a group is less. Where is who, and in which queue
	AboveMax                        // never: the max of queue Where is less
	UnknownNode                     // never: the only node it accepts, Where, does not exist
	NoSuchResource                  // never: no node has any of resource Where
	AboveNode                       // never: no schedulable node is large enough; with Where: the required one is not
	NoNodes                         // there is no schedulable node
	WaitsToStart                    // a newer application of a stateaware leaf: Where goes first
	QueueFull                       // Where runs as many applications as it may
	HolderFull                      // a user or a group does, in a queue: Where is both
	OverLimit                       // the limit of a user or a group does not allow it: Where is who, and in which queue
	OverMax                         // Where has no headroom for it
	ClusterFull                     // all nodes together have no room for it
	NoNodeFits                      // no schedulable node has room; with Where: the required one has none
	NodesRefuse                     // the RM said no to every node that has room
	NodeIsTaken                     // others have left node Where for it, and there is no room all the same
	NodeRefuses                     // others have left node Where for it, and the RM says no all the same
)

// Code is a stable name, for programs.
func (o Obstacle) Code() string {
	return [...]string{
		"notPending", "waitsForTurn", "waitsForVictims", "aboveLimit", "aboveMax", "unknownNode", "noSuchResource", "aboveNode", "noNodes",
		"waitsToStart", "queueFull", "holderFull", "overLimit", "overMax", "clusterFull", "noNodeFits", "nodesRefuse", "nodeIsTaken", "nodeRefuses",
	}[o]
}

// Never reports whether nothing that ends can overcome o.
func (o Obstacle) Never() bool { return AboveLimit <= o && o <= AboveNode }

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
	case AboveLimit:
		return fmt.Sprintf("more than the limit of %s", v.Where)
	case AboveMax:
		return fmt.Sprintf("more than the max of queue %s", v.Where)
	case NoSuchResource:
		return fmt.Sprintf("no node has %s", v.Where)
	case AboveNode:
		if v.Where != "" {
			return fmt.Sprintf("more than its required node %s has in all", v.Where)
		}
		return "more than any schedulable node has in all"
	case NoNodes:
		return "there is no schedulable node"
	case ClusterFull:
		return "no headroom in the cluster"
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

// verdict says what stands in the way of a pending ask now. Requires: the partition is settled.
func (c *Core) verdict(x *objects.Allocation) Verdict {
	v := Verdict{App: x.Application().ID(), User: x.Application().User()}
	v.Obstacle, v.Where = c.obstacle(x)
	return v
}

func (c *Core) obstacle(x *objects.Allocation) (o Obstacle, where string) {
	a, s := x.Application(), x.Shape()
	if n := c.part.Nomination(x); n != nil {
		return WaitsForVictims, string(n.ID())
	}
	fits := c.part.NodeFor(s) != nil
	if o, where := c.lastingObstacle(x, fits); o != NotPending {
		return o, where
	}
	if o, where := c.startObstacle(a); o != NotPending {
		return o, where
	}
	if o, where := c.quotaObstacle(x); o != NotPending {
		return o, where
	}
	switch {
	case !fits:
		return NoNodeFits, string(s.RequiredNode())
	case c.part.Refused(x):
		return NodesRefuse, ""
	}
	return WaitsForTurn, ""
}

// lastingObstacle is what would keep x from being placed even if everything else had ended;
// NotPending: nothing would. fits says that a node has room for it, so that none need be looked at.
func (c *Core) lastingObstacle(x *objects.Allocation, fits bool) (o Obstacle, where string) {
	a, s := x.Application(), x.Shape()
	if q, h, above := c.part.ExceedsLimit(a, s); above {
		return AboveLimit, holderIn(h, q)
	}
	if q := c.part.ExceedsMax(a.Queue(), s); q != nil {
		return AboveMax, string(q.Path())
	}
	if fits {
		return NotPending, ""
	}
	if id := s.RequiredNode(); id != "" {
		n, known := c.part.Node(id)
		switch {
		case !known:
			return UnknownNode, string(id)
		case !n.Total().Covers(s.Vector()):
			return AboveNode, string(id)
		}
		return NotPending, ""
	}
	some := false
	for n := range c.part.EachNode {
		some = some || n.Schedulable()
		if n.Schedulable() && n.Total().Covers(s.Vector()) {
			return NotPending, ""
		}
	}
	if !some {
		return NoNodes, ""
	}
	for name, n := range x.Ask().Amounts.All() {
		if n > 0 && c.part.Amounts(c.part.Capacity()).Get(name) == 0 {
			return NoSuchResource, name
		}
	}
	return AboveNode, ""
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
		return maxObstacle(q)
	}
	return NotPending, ""
}

// maxObstacle is what it means that q has no headroom: root's max is what the nodes have.
func maxObstacle(q *objects.Queue) (o Obstacle, where string) {
	if q.Parent() == nil {
		return ClusterFull, ""
	}
	return OverMax, string(q.Path())
}

// wallObstacle is what a wall is to an ask.
func wallObstacle(w *objects.Wall) (o Obstacle, where string) {
	q, h := w.Where()
	if h == (objects.Holder{}) {
		return maxObstacle(q)
	}
	return OverLimit, fmt.Sprintf("%s in queue %s", h, q.Path())
}
