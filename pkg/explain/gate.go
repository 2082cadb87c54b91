package explain

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Kind is the kind of a Gate.
type Kind uint8

// The kinds, in the order in which gates are listed (EXP-2).
const (
	ResourceManager Kind = iota // a resource manager receives decisions (ORD-62)
	// what runs is reported after a registration (RMI-80); there is a gate only while it is closed
	Recovery
	PlacementRate // the rate limit of placements allows one more (RMI-82); likewise
	Victims       // the victims on the nominated node, the subject, have ended
	Hold          // the application, the subject, is not on hold by an operator (OPS-1)
	StoppedQueue  // the queue, the subject, is not stopped by an operator (OPS-2)
	RecoveryQueue // the application, the subject, is not in the recovery queue (PLC-34)
	Replacement   // the placeholder that the ask replaces, the subject, has ended
	// no placeholder of the task group, the subject, is left that the ask would replace (GAN-4)
	Placeholders
	Members              // the task group, the subject, has enough pending asks to be placed together (GAN-23)
	StartOrder           // in a StateAware leaf, the subject, no other application starts first (ORD-32)
	LimitMaxApplications // maxapplications of a limit of a user or group (LIM-17)
	QueueMaxApplications // maxapplications of a queue (QUO-26)
	LimitMaxResources    // maxresources of a limit of a user or group (LIM-11)
	QueueMaxResources    // max of a queue (QUO-1)
	ClusterCapacity      // the capacity of the cluster (QUO-4)
	Nodes                // a node admits the ask and has enough free (NOD-25)
	OtherAllocations     // one of these nodes is not refused by affinity, spread or host ports (CON-13)
	Gang                 // the other members of its gang can be placed together with it (GAN-23)
	Predicates           // the resource manager has not refused every feasible node (ASK-33)
)

// Code returns the stable code of the kind.
func (k Kind) Code() string {
	return [...]string{
		"resourceManager", "recovery", "placementRate", "victims", "hold", "stoppedQueue", "recoveryQueue", "replacement",
		"placeholders", "members", "startOrder", "limitMaxApplications",
		"queueMaxApplications", "limitMaxResources", "queueMaxResources", "clusterCapacity", "nodes", "otherAllocations",
		"gang", "predicates",
	}[k]
}

// Gate is one condition for an ask to be placed.
type Gate struct {
	Kind      Kind
	Subject   string // a queue, a user or group in a queue, a node, a task group; may be empty
	Closed    bool
	Permanent bool // closed, and no end of other allocations opens it (ORD-49)

	Figures []Figure         // of the requested resources that the gate bounds, by name; of Nodes: on Node
	Node    objects.NodeID   // of Nodes: the node that lacks the least, if the gate is closed and one could have enough
	HeldFor []objects.Holder // of Nodes: the other asks for which something of Node is held

	Running    int // of gates of maxapplications: the applications that count, and their bound
	MaxRunning uint64
	// of Nodes: nodes with enough free that have refused the ask before, and do not get it before Until
	Refusing int
	Until    time.Time // when it opens by itself, at the latest; zero: it does not, or when is not known

	Changes []Change // each of them opens the gate; empty if it is open, or if nothing but waiting helps
}

// Figure holds the quantities of one resource behind a gate.
type Figure struct {
	Resource  string
	Requested resources.Quantity
	// what is left, and all that there is. Free is negative if more is used than Max, or held for other asks than is left
	Free, Max resources.Quantity
	Held      resources.Quantity // of Nodes: held for other asks; not part of Free
}

// Left returns Free as it is shown: of a node at least 0.
func (g Gate) Left(f Figure) resources.Quantity {
	if g.Kind == Nodes {
		return max(0, f.Free)
	}
	return f.Free
}

// Missing returns how much more must become free; zero or less: there is enough.
func (f Figure) Missing() resources.Quantity { return resources.SubSaturated(f.Requested, f.Free) }

// Facts holds what Gates needs and the partition does not know.
type Facts struct {
	Listening    bool                          // a resource manager receives decisions
	Draining     bool                          // the partition is being removed, and no node may join
	Allows       func(*objects.Node) bool      // other allocations leave the node to the ask; nil: they refuse none to any
	Predicates   bool                          // a resource manager has predicates
	RefusedUntil func(*objects.Node) time.Time // when a node that has refused the ask may get it again; nil: none has
	RetryAt      time.Time                     // when refused asks are tried again
	Stopped      func(objects.QueuePath) bool  // an operator has stopped the queue; nil: none is stopped
	// why the gang of the ask could not be placed together; empty: it was not tried, or it could
	GangRefusal string
}

// question is one call of Gates.
type question struct {
	part  *objects.Partition
	ask   *objects.Allocation
	facts Facts
	gates []Gate

	largest largestRequest
	missing resources.Vector // of missingOn
}

// Gates returns all gates of x, open and closed, in the order of their kinds; those of queues and limits from the leaf
// up. An ask with victims has only the gates of its victims and of the resource manager. largest is the largest request
// with which no gate of quantities would be closed; zero: there is none, or x could have all that it requests (EXP-5).
//
// Requires: x is pending, and Partition.RefreshShares was called since the last change. The cost grows with the depth
// of the queue and the number of nodes.
func Gates(p *objects.Partition, x *objects.Allocation, f Facts) (gates []Gate, largest resources.Amounts) {
	q := &question{part: p, ask: x, facts: f}
	q.add(Gate{Kind: ResourceManager, Closed: !f.Listening}, Change{Action: ConnectResourceManager})
	q.waitGates()
	if p.Nomination(x) != nil {
		return q.gates, largest // the victim search has seen to everything else (PRE-73)
	}
	q.startGate()
	for c := range x.Application().Constraints().Each {
		q.quotaGate(c)
	}
	q.beginLargest()
	q.nodeGates()
	q.noteAlsoOpened()
	return q.gates, q.largestAmounts()
}

// noteAlsoOpened notes that the changes of the nodes open the gate of the cluster capacity too: what is free on a node
// is free in the cluster.
func (q *question) noteAlsoOpened() {
	capacity := slices.IndexFunc(q.gates, func(g Gate) bool { return g.Kind == ClusterCapacity })
	nodes := slices.IndexFunc(q.gates, func(g Gate) bool { return g.Kind == Nodes })
	if !q.gates[capacity].Closed {
		return
	}
	for i := range q.gates[nodes].Changes {
		switch c := &q.gates[nodes].Changes[i]; c.Action {
		case FreeOnNode, AddNode, RegisterNode:
			if !slices.ContainsFunc(q.gates[capacity].Figures,
				func(f Figure) bool { return f.Missing() > c.Amounts.Get(f.Resource) }) {
				c.AlsoOpens = []Kind{ClusterCapacity}
			}
		}
	}
}

// add adds a gate, with its changes if it is closed.
func (q *question) add(g Gate, changes ...Change) {
	if g.Closed {
		g.Changes = changes
	}
	q.gates = append(q.gates, g)
}

// Closed returns the gates that are closed.
func Closed(gates []Gate) (closed []Gate) {
	for _, g := range gates {
		if g.Closed {
			closed = append(closed, g)
		}
	}
	return closed
}

// waitGates adds the gates of an ask that waits for others to end or to come. A gate that does not concern the ask is
// left out.
func (q *question) waitGates() {
	x := q.ask
	if n := q.part.Nomination(x); n != nil {
		q.add(Gate{Kind: Victims, Subject: string(n.ID()), Closed: true, Running: len(n.Preempting())})
	}
	q.operatorGates()
	if y := q.part.Gangs().Replaces(x); y != nil {
		q.add(Gate{Kind: Replacement, Subject: string(y.Key()), Closed: true})
		return
	}
	group, gang := x.AskGroup(), x.Application().Gang()
	switch {
	case !group.Held():
	case group.WaitsForMembers():
		for _, t := range gang.Groups() {
			missing := t.Live() - gang.Members(t.Name)
			q.add(Gate{Kind: Members, Subject: t.Name, Closed: missing > 0, Running: gang.Members(t.Name),
				MaxRunning: uint64(max(t.Live(), 0))},
				Change{Action: SubmitMembers, Subject: t.Name, Count: uint64(max(missing, 0))})
		}
	default:
		q.add(Gate{Kind: Placeholders, Subject: x.Ask().TaskGroup(), Closed: true})
	}
}

// operatorGates adds the gates that only an operator opens. An open one is not listed.
func (q *question) operatorGates() {
	a := q.ask.Application()
	if a.OnHold() {
		q.add(Gate{Kind: Hold, Subject: string(a.ID()), Closed: true},
			Change{Action: ReleaseApplication, Subject: string(a.ID())})
	}
	for above := a.Queue(); above != nil && q.facts.Stopped != nil; above = above.Parent() {
		if path := above.Path(); q.facts.Stopped(path) {
			q.add(Gate{Kind: StoppedQueue, Subject: string(path), Closed: true}, Change{Action: StartQueue, Queue: path})
		}
	}
	if a.Queue().Recovery() {
		q.add(Gate{Kind: RecoveryQueue, Subject: string(a.ID()), Closed: true},
			Change{Action: MoveApplication, Subject: string(a.ID())})
	}
}

// startGate adds the gate of a StateAware leaf.
func (q *question) startGate() {
	a := q.ask.Application()
	if !a.Queue().StateAware() {
		return
	}
	before := a.StartingBefore()
	change := Change{Action: EndApplications, Queue: a.Queue().Path(), Count: uint64(len(before))}
	for _, other := range before {
		change.addCandidate(string(other.ID()))
	}
	q.add(Gate{Kind: StartOrder, Subject: string(a.Queue().Path()), Closed: len(before) > 0}, change)
}

// kinds maps the kinds of quota constraints to kinds of gates.
var kinds = [...]Kind{
	quota.LimitMaxApplications: LimitMaxApplications, quota.QueueMaxApplications: QueueMaxApplications,
	quota.LimitMaxResources: LimitMaxResources, quota.QueueMaxResources: QueueMaxResources,
	quota.ClusterCapacity: ClusterCapacity,
}
