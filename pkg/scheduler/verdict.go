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
	Reason  PendingReason
	Subject string // the queue, application or node that stands in the way; may be empty

	// Whose ask it is, and which groups were found for the user. Empty when NotPending.
	App  objects.AppID
	User security.User
}

// PendingReason is what stands in an ask's way.
type PendingReason uint8

// The obstacles, in the order in which an ask meets them. Nothing that ends can
// overcome the ones marked never: the ask, the nodes or the configuration must change.
const (
	NotPending                PendingReason = iota // there is no such ask, or it has its node
	WaitsForTurn                                   // nothing: it can be placed when its turn comes
	WaitsForVictims                                // others were told to leave node Where for it, and have not all left
	AskExceedsLimit                                // never: the limit of a user or a group is less. Where is who, and in which queue
	AskExceedsMax                                  // never: the max of queue Where is less
	UnknownNode                                    // never: the only node it accepts, Where, does not exist
	NoSuchResource                                 // never: no node has any of resource Where
	AskExceedsNodes                                // never: no schedulable node is large enough; with Where: the required one is not
	NoSchedulableNode                              // there is no schedulable node
	WaitsToStart                                   // a newer application of a stateaware leaf: Where goes first
	QueueMaxApplications                           // Where runs as many applications as it may
	LimitMaxApplications                           // a user or a group does, in a queue: Where is both
	NoLimitHeadroom                                // the limit of a user or a group does not allow it: Where is who, and in which queue
	NoQueueHeadroom                                // Where has no headroom for it
	NoClusterHeadroom                              // all nodes together have no room for it
	NoNodeFits                                     // no schedulable node has room; with Where: the required one has none
	NodesRejectedByRM                              // the RM said no to every node that has room
	NominatedNodeFull                              // others have left node Where for it, and there is no room all the same
	NominatedNodeRejectedByRM                      // others have left node Where for it, and the RM says no all the same
)

// Code is a stable name, for programs.
func (o PendingReason) Code() string {
	return [...]string{
		"notPending", "waitsForTurn", "waitsForVictims", "askExceedsLimit", "askExceedsMax", "unknownNode", "noSuchResource", "askExceedsNodes", "noSchedulableNode",
		"waitsToStart", "queueMaxApplications", "limitMaxApplications", "noLimitHeadroom", "noQueueHeadroom", "noClusterHeadroom", "noNodeFits", "nodesRejectedByRM", "nominatedNodeFull", "nominatedNodeRejectedByRM",
	}[o]
}

// Permanent reports whether nothing that ends can overcome o.
func (o PendingReason) Permanent() bool { return AskExceedsLimit <= o && o <= AskExceedsNodes }

func (v Verdict) String() string {
	switch v.Reason {
	case WaitsForTurn:
		return "waits for its turn"
	case WaitsToStart:
		return fmt.Sprintf("waits for application %s to start", v.Subject)
	case QueueMaxApplications:
		return fmt.Sprintf("queue %s runs as many applications as it may", v.Subject)
	case LimitMaxApplications:
		return fmt.Sprintf("%s runs as many applications as it may", v.Subject)
	case NoLimitHeadroom:
		return fmt.Sprintf("over the limit of %s", v.Subject)
	case WaitsForVictims:
		return fmt.Sprintf("waits for victims to terminate on node %s", v.Subject)
	case AskExceedsLimit:
		return fmt.Sprintf("more than the limit of %s", v.Subject)
	case AskExceedsMax:
		return fmt.Sprintf("more than the max of queue %s", v.Subject)
	case NoSuchResource:
		return fmt.Sprintf("no node has %s", v.Subject)
	case AskExceedsNodes:
		if v.Subject != "" {
			return fmt.Sprintf("more than its required node %s has in all", v.Subject)
		}
		return "more than any schedulable node has in all"
	case NoSchedulableNode:
		return "there is no schedulable node"
	case NoClusterHeadroom:
		return "no headroom in the cluster"
	case NoQueueHeadroom:
		return fmt.Sprintf("no headroom in queue %s", v.Subject)
	case UnknownNode:
		return fmt.Sprintf("its required node %s does not exist", v.Subject)
	case NoNodeFits:
		if v.Subject != "" {
			return fmt.Sprintf("its required node %s has insufficient free resources", v.Subject)
		}
		return "no node has sufficient free resources"
	case NominatedNodeFull:
		return fmt.Sprintf("node %s has insufficient free resources for its nominee", v.Subject)
	case NominatedNodeRejectedByRM:
		return fmt.Sprintf("the resource manager rejects nominated node %s", v.Subject)
	case NodesRejectedByRM:
		return "the resource manager rejects every node with sufficient free resources"
	}
	return "not pending"
}

// verdict says what stands in the way of a pending ask now. Requires: the partition is settled.
func (c *Core) verdict(x *objects.Allocation) Verdict {
	v := Verdict{App: x.Application().ID(), User: x.Application().User()}
	v.Reason, v.Subject = c.findPendingReason(x)
	return v
}

func (c *Core) findPendingReason(x *objects.Allocation) (o PendingReason, where string) {
	a, s := x.Application(), x.Shape()
	if n := c.part.Nomination(x); n != nil {
		return WaitsForVictims, string(n.ID())
	}
	fits := c.part.FirstFittingNode(s) != nil
	if o, where := c.permanentReason(x, fits); o != NotPending {
		return o, where
	}
	if o, where := c.startReason(a); o != NotPending {
		return o, where
	}
	if o, where := c.quotaReason(x); o != NotPending {
		return o, where
	}
	switch {
	case !fits:
		return NoNodeFits, string(s.RequiredNode())
	case c.part.Unschedulable(x):
		return NodesRejectedByRM, ""
	}
	return WaitsForTurn, ""
}

// permanentReason is what would keep x from being placed even if everything else had ended;
// NotPending: nothing would. fits says that a node has room for it, so that none need be looked at.
func (c *Core) permanentReason(x *objects.Allocation, fits bool) (o PendingReason, where string) {
	a, s := x.Application(), x.Shape()
	if q, h, exceeds := c.part.LimitTooSmall(a, s); exceeds {
		return AskExceedsLimit, holderIn(h, q)
	}
	if q := c.part.QueueMaxTooSmall(a.Queue(), s); q != nil {
		return AskExceedsMax, string(q.Path())
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
			return AskExceedsNodes, string(id)
		}
		return NotPending, ""
	}
	anySchedulable := false
	for n := range c.part.EachNode {
		anySchedulable = anySchedulable || n.Schedulable()
		if n.Schedulable() && n.Total().Covers(s.Vector()) {
			return NotPending, ""
		}
	}
	if !anySchedulable {
		return NoSchedulableNode, ""
	}
	for name, n := range x.Ask().Amounts.All() {
		if n > 0 && c.part.Amounts(c.part.Capacity()).Get(name) == 0 {
			return NoSuchResource, name
		}
	}
	return AskExceedsNodes, ""
}

// startReason is what keeps a from being given anything at all; NotPending: nothing does.
func (c *Core) startReason(a *objects.Application) (o PendingReason, where string) {
	if !a.StateAwareAllows() {
		return WaitsToStart, string(a.Queue().FirstStarting().ID())
	}
	return c.maxApplicationsReason(a)
}

// maxApplicationsReason is what keeps a from running; NotPending: nothing does.
func (c *Core) maxApplicationsReason(a *objects.Application) (o PendingReason, where string) {
	if q, h, limited := c.part.BlockingMaxApplications(a); limited && h == (objects.UserOrGroup{}) {
		return QueueMaxApplications, string(q.Path())
	} else if limited {
		return LimitMaxApplications, fmt.Sprintf("%s in queue %s", h, q.Path())
	}
	return NotPending, ""
}

// quotaReason is the limit or the max that keeps x from being placed now; NotPending: none.
func (c *Core) quotaReason(x *objects.Allocation) (o PendingReason, where string) {
	a, s := x.Application(), x.Shape()
	if q, h, noHeadroom := c.part.BlockingLimit(a, s); noHeadroom {
		return NoLimitHeadroom, fmt.Sprintf("%s in queue %s", h, q.Path())
	}
	if q := c.part.BlockingQueue(a.Queue(), s); q != nil {
		return headroomReason(q)
	}
	return NotPending, ""
}

// headroomReason is what it means that q has no headroom: root's max is what the nodes have.
func headroomReason(q *objects.Queue) (o PendingReason, where string) {
	if q.Parent() == nil {
		return NoClusterHeadroom, ""
	}
	return NoQueueHeadroom, string(q.Path())
}

// shortfallReason is what a wall is to an ask.
func shortfallReason(shortfall *objects.QuotaShortfall) (o PendingReason, where string) {
	q, h := shortfall.Source()
	if h == (objects.UserOrGroup{}) {
		return headroomReason(q)
	}
	return NoLimitHeadroom, fmt.Sprintf("%s in queue %s", h, q.Path())
}
