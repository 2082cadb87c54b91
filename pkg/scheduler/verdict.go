package scheduler

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// Verdict says why an ask is not placed. It is no error: in a busy cluster most asks have one most of the
// time. It is computed on request, so it is current and costs decisions nothing.
type Verdict struct {
	Reason PendingReason `json:"code"` // see docs/EXPLAIN.md
	// the queue, user, group, application, node or resource that is the obstacle
	Subject string `json:"subject,omitempty"`
}

// PendingReason is the kind of a Verdict (ORD-48, OBS-40).
type PendingReason uint8

// The reasons, in the order in which they are checked. Those marked permanent stay whatever allocations
// end: the ask, the nodes or the configuration must change.
const (
	NotPending      PendingReason = iota // there is no such ask, or it is bound
	WaitsForTurn                         // none: it can be placed when its turn comes
	WaitsForVictims                      // nominated for node Subject, where victims have not all ended
	AskExceedsLimit                      // permanent: above the limit of a user or a group in a queue: Subject
	AskExceedsMax                        // permanent: above the max of queue Subject (QUO-9)
	UnknownNode                          // permanent: its required node Subject does not exist
	// permanent: its constraints admit no schedulable node; with Subject: not the required node
	NoNodeAdmitted
	NoSuchResource // permanent: no node has resource Subject
	// permanent: exceeds all schedulable nodes; with Subject: the required node
	AskExceedsNodes
	NoSchedulableNode    // there is no schedulable node
	WaitsToStart         // in a StateAware leaf, application Subject starts first
	QueueMaxApplications // queue Subject runs its maximum of applications (QUO-33)
	LimitMaxApplications // a user or a group runs its maximum in a queue: Subject
	NoLimitHeadroom      // no headroom in the limit of Subject, a user or group in a queue
	NoQueueHeadroom      // queue Subject has no headroom
	NoClusterHeadroom    // root, whose max is the capacity of the cluster, has no headroom
	NoNodeFits           // no schedulable node has enough free; with Subject: required node
	// each schedulable node that has enough free has refused it before; with Subject: required node
	NodesRefusedBefore
	// affinity, anti-affinity, spread or host ports leave it no node that has enough free
	NoNodeForAffinity
	NodesRejectedByRM         // the RM refused every node that has enough free
	NominatedNodeFull         // the victims on node Subject have ended, and not enough is free
	NominatedNodeRejectedByRM // the victims on node Subject have ended, and the RM refuses it
	WaitsForPlaceholder       // task group Subject has placeholders, one of which it will replace
	WaitsForReservedNode      // node Subject, which it has reserved, has not enough free yet
	// the release of placeholder Subject, which it replaces, is not confirmed
	ReplacesPlaceholder
	// its gang is placed together, and has too few asks of task group Subject
	WaitsForMembers
	GangDoesNotFit    // its gang is placed together, and cannot be now: Subject
	ApplicationOnHold // an operator holds its application, Subject (OPS-1)
	QueueIsStopped    // an operator has stopped queue Subject (OPS-2)
	// an operator has to move its application, Subject, out of the recovery queue (PLC-34)
	InRecoveryQueue
)

// Code is a stable code, for programs.
func (o PendingReason) Code() string {
	return [...]string{
		"notPending", "waitsForTurn", "waitsForVictims", "askExceedsLimit", "askExceedsMax", "unknownNode", "noNodeAdmitted",
		"noSuchResource", "askExceedsNodes", "noSchedulableNode",
		"waitsToStart", "queueMaxApplications", "limitMaxApplications", "noLimitHeadroom", "noQueueHeadroom",
		"noClusterHeadroom", "noNodeFits", "nodesRefusedBefore", "noNodeForAffinity", "nodesRejectedByRM",
		"nominatedNodeFull", "nominatedNodeRejectedByRM",
		"waitsForPlaceholder", "waitsForReservedNode", "replacesPlaceholder", "waitsForMembers", "gangDoesNotFit",
		"applicationOnHold", "queueIsStopped", "inRecoveryQueue",
	}[o]
}

// MarshalText writes the code.
func (o PendingReason) MarshalText() ([]byte, error) { return []byte(o.Code()), nil }

// Permanent reports whether o stays whatever allocations end (ORD-49, OBS-41).
func (o PendingReason) Permanent() bool { return AskExceedsLimit <= o && o <= AskExceedsNodes }

func (v Verdict) String() string {
	switch v.Reason {
	case WaitsForTurn:
		return "waits for its turn"
	case WaitsToStart:
		return fmt.Sprintf("waits for application %s to start", v.Subject)
	case ApplicationOnHold:
		return fmt.Sprintf("an operator holds application %s", v.Subject)
	case QueueIsStopped:
		return fmt.Sprintf("an operator has stopped queue %s", v.Subject)
	case InRecoveryQueue:
		return fmt.Sprintf("application %s is in the recovery queue: an operator has to move it", v.Subject)
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
	case NoNodeAdmitted:
		if v.Subject != "" {
			return fmt.Sprintf("its node selector, node affinity or tolerations do not admit its required node %s", v.Subject)
		}
		return "its node selector, node affinity and tolerations admit no schedulable node"
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
	case NodesRefusedBefore:
		return "the nodes with sufficient free resources have refused it before"
	case NominatedNodeFull:
		return fmt.Sprintf("node %s has insufficient free resources for its nominee", v.Subject)
	case NominatedNodeRejectedByRM:
		return fmt.Sprintf("the resource manager rejects nominated node %s", v.Subject)
	case WaitsForPlaceholder:
		return fmt.Sprintf("waits for a placeholder of task group %s", v.Subject)
	case WaitsForReservedNode:
		return fmt.Sprintf("has reserved node %s, which has insufficient free resources yet", v.Subject)
	case ReplacesPlaceholder:
		return fmt.Sprintf("waits for placeholder %s to end, which it replaces", v.Subject)
	case NoNodeForAffinity:
		return "pod affinity, anti-affinity, topology spread or host ports leave it no node with sufficient free resources"
	case WaitsForMembers:
		return fmt.Sprintf("its gang waits for more members of task group %s", v.Subject)
	case GangDoesNotFit:
		return fmt.Sprintf("its gang cannot be placed together: %s", v.Subject)
	case NodesRejectedByRM:
		return "the resource manager rejects every node with sufficient free resources"
	}
	return "not pending"
}

// verdict returns why a pending ask is not placed now. The caller must have called Refresh since
// the last change.
func (c *Core) verdict(x *objects.Allocation) Verdict {
	o, subject := c.findPendingReason(x)
	return Verdict{o, subject}
}

// findPendingReason is the first reason why x is not placed (ORD-48, ORD-53, ORD-57, ORD-58, OBS-40).
func (c *Core) findPendingReason(x *objects.Allocation) (o PendingReason, subject string) {
	a, s := x.Application(), x.Shape()
	if n := c.part.Nomination(x); n != nil {
		return WaitsForVictims, string(n.ID())
	}
	if o, subject := c.gangReason(x); o != NotPending {
		return o, subject
	}
	fits := c.part.FirstFittingNode(s) != nil
	if o, subject := c.permanentReason(x, fits); o != NotPending {
		return o, subject
	}
	if o, subject := c.startReason(a); o != NotPending {
		return o, subject
	}
	o, subject = c.quotaReason(x)
	if n := c.part.Reservations().Of(x); n != nil && !fits && (o == NotPending || o == NoClusterHeadroom) {
		return WaitsForReservedNode, string(n.ID()) // the cluster may have none but what will be free there
	}
	switch {
	case o != NotPending:
		return o, subject
	case !fits && c.anyNode(func(n *objects.Node) bool { return n.FitsButRefuses(s) }):
		return NodesRefusedBefore, s.RequiredNode()
	case !fits:
		return NoNodeFits, string(s.RequiredNode())
	case c.nodes.For(x).WithoutPreferences().First() == nil:
		return NoNodeForAffinity, ""
	case gangRefusalOf(x) != "":
		return GangDoesNotFit, gangRefusalOf(x)
	case c.part.Unschedulable(x):
		return NodesRejectedByRM, ""
	}
	return WaitsForTurn, ""
}

func (c *Core) anyNode(is func(*objects.Node) bool) bool {
	for n := range c.part.EachNode {
		if is(n) {
			return true
		}
	}
	return false
}

// gangReason returns why an ask waits for a placeholder, or for other members of its gang; NotPending: it does not, or
// is hypothetical (GAN-4, GAN-23).
func (c *Core) gangReason(x *objects.Allocation) (o PendingReason, subject string) {
	if y := c.part.Gangs().Replaces(x); y != nil {
		return ReplacesPlaceholder, string(y.Key())
	}
	group := x.AskGroup()
	switch {
	case group == nil || !group.Held():
		return NotPending, ""
	case group.WaitsForMembers():
		if taskGroup, incomplete := group.Application().Gang().Incomplete(); incomplete {
			return WaitsForMembers, taskGroup
		}
		return NotPending, ""
	}
	return WaitsForPlaceholder, x.Ask().TaskGroup()
}

// gangRefusalOf returns why the gang of x could not be placed together; empty: it does not wait for that, or was not
// tried since something has changed (GAN-23).
func gangRefusalOf(x *objects.Allocation) string {
	if group := x.AskGroup(); group != nil && group.WaitsForMembers() {
		return group.Application().Gang().Refusal()
	}
	return ""
}

// permanentReason returns why x could not be placed even if all other allocations had ended; NotPending: there
// is no such reason. fits says that x fits a node now, so that no node need be checked
// (ORD-49, ORD-53, ORD-54, OBS-41).
func (c *Core) permanentReason(x *objects.Allocation, fits bool) (o PendingReason, subject string) {
	a, s := x.Application(), x.Shape()
	if constraint, tooSmall := a.Constraints().FirstTooSmall(s); tooSmall {
		return constraintReason(constraint, true)
	}
	if fits {
		return NotPending, ""
	}
	if id := objects.NodeID(s.RequiredNode()); id != "" {
		n, known := c.part.Node(id)
		switch {
		case !known:
			return UnknownNode, string(id)
		case s.Constraints().Match(n.Constraints()) != constraints.Matches:
			return NoNodeAdmitted, string(id)
		case !n.Total().Covers(s.Vector()):
			return AskExceedsNodes, string(id)
		}
		return NotPending, ""
	}
	anySchedulable, anyAdmitted := false, false
	for n := range c.part.EachNode {
		admitted := n.Schedulable() && s.Constraints().Match(n.Constraints()) == constraints.Matches
		anySchedulable, anyAdmitted = anySchedulable || n.Schedulable(), anyAdmitted || admitted
		if admitted && n.Total().Covers(s.Vector()) {
			return NotPending, ""
		}
	}
	switch {
	case !anySchedulable:
		return NoSchedulableNode, ""
	case !anyAdmitted:
		return NoNodeAdmitted, ""
	}
	for name, n := range x.Ask().Amounts.All() {
		if n > 0 && c.part.Amounts(c.part.Capacity()).Get(name) == 0 {
			return NoSuchResource, name
		}
	}
	return AskExceedsNodes, ""
}

// startReason returns why no ask of a can be placed; NotPending: no such reason (ORD-55).
func (c *Core) startReason(a *objects.Application) (o PendingReason, subject string) {
	o, subject = c.operatorReason(a)
	if o != NotPending {
		return o, subject
	}
	if !a.StateAwareAllows() {
		return WaitsToStart, string(a.Queue().FirstStarting().ID())
	}
	return c.maxApplicationsReason(a)
}

// operatorReason returns the reason why only an operator can let a be allocated anything; NotPending: no such reason
// (OPS-1, OPS-2, PLC-34).
func (c *Core) operatorReason(a *objects.Application) (o PendingReason, subject string) {
	switch {
	case a.OnHold():
		return ApplicationOnHold, string(a.ID())
	case a.Queue().Stopped():
		return QueueIsStopped, string(c.firstStopped(a.Queue()))
	case a.Queue().Recovery():
		return InRecoveryQueue, string(a.ID())
	}
	return NotPending, ""
}

// firstStopped is the nearest stopped queue from leaf up. Requires: there is one.
func (c *Core) firstStopped(leaf *objects.Queue) objects.QueuePath {
	q := leaf
	for !c.operators.queues[StopQueue][q.Path()] {
		q = q.Parent()
	}
	return q.Path()
}

// maxApplicationsReason is the maxapplications that keeps a from running; NotPending: none does (ORD-56).
func (c *Core) maxApplicationsReason(a *objects.Application) (o PendingReason, subject string) {
	if constraint, blocked := a.Constraints().FirstBlockingStart(); blocked {
		return constraintReason(constraint, false)
	}
	return NotPending, ""
}

// quotaReason is the constraint without headroom for x; NotPending: none (QUO-10).
func (c *Core) quotaReason(x *objects.Allocation) (o PendingReason, subject string) {
	if constraint, blocked := x.Application().Constraints().FirstBlocking(x.Shape()); blocked {
		return constraintReason(constraint, false)
	}
	return NotPending, ""
}

// constraintReason is the reason for a constraint that blocks an ask; tooSmall: for ever (ORD-52).
func constraintReason(c quota.Constraint, tooSmall bool) (o PendingReason, subject string) {
	switch c.Kind() {
	case quota.LimitMaxApplications:
		return LimitMaxApplications, c.String()
	case quota.QueueMaxApplications:
		return QueueMaxApplications, string(c.Queue().Path())
	case quota.LimitMaxResources:
		if tooSmall {
			return AskExceedsLimit, c.String()
		}
		return NoLimitHeadroom, c.String()
	case quota.QueueMaxResources:
		if tooSmall {
			return AskExceedsMax, string(c.Queue().Path())
		}
		return NoQueueHeadroom, string(c.Queue().Path())
	}
	return NoClusterHeadroom, ""
}

// blocked reports whether a constraint blocks an ask of a.
func blocked(p *objects.Partition, a *objects.Application, s *feasibility.Shape) bool {
	_, blocked := a.Constraints().FirstBlocking(s)
	return blocked
}

// giveUpVerdict returns why x cannot be placed on its nominated node although its victims have ended.
func (c *Core) giveUpVerdict(x *objects.Allocation) (v Verdict) {
	n := c.part.Nomination(x)
	if !c.part.FitsNominated(x) {
		v.Reason, v.Subject = NominatedNodeFull, string(n.ID())
		return v
	}
	v.Reason, v.Subject = c.startReason(x.Application())
	if v.Reason != NotPending {
		return v
	}
	if shortfalls := victim.QuotaShortfalls(c.part, x); len(shortfalls) > 0 {
		v.Reason, v.Subject = constraintReason(shortfalls[0].Constraint, false)
		return v
	}
	v.Reason, v.Subject = NominatedNodeRejectedByRM, string(n.ID())
	return v
}
