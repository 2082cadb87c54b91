package explain

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Kind is the kind of a Gate.
type Kind string

// The kinds, in the order in which gates are listed (EXP-2).
const (
	ResourceManager Kind = "resourceManager" // a resource manager receives decisions (ORD-62)
	// what runs is reported after a registration (RMI-80); there is a gate only while it is closed
	Recovery      Kind = "recovery"
	PlacementRate Kind = "placementRate" // the rate limit of placements allows one more (RMI-82); likewise
	Victims       Kind = "victims"       // the victims on the nominated node, the subject, have ended
	Hold          Kind = "hold"          // the application, the subject, is not on hold by an operator (OPS-1)
	StoppedQueue  Kind = "stoppedQueue"  // the queue, the subject, is not stopped by an operator (OPS-2)
	RecoveryQueue Kind = "recoveryQueue" // the application, the subject, is not in the recovery queue (PLC-34)
	Replacement   Kind = "replacement"   // the placeholder that the ask replaces, the subject, has ended
	// no placeholder of the task group, the subject, is left that the ask would replace (GAN-4)
	Placeholders Kind = "placeholders"
	// the task group, the subject, has enough pending asks to be placed together (GAN-23)
	Members Kind = "members"
	// in a StateAware leaf, the subject, no other application starts first (ORD-32)
	StartOrder           Kind = "startOrder"
	LimitMaxApplications Kind = "limitMaxApplications" // maxapplications of a limit of a user or group (LIM-17)
	QueueMaxApplications Kind = "queueMaxApplications" // maxapplications of a queue (QUO-26)
	LimitMaxResources    Kind = "limitMaxResources"    // maxresources of a limit of a user or group (LIM-11)
	QueueMaxResources    Kind = "queueMaxResources"    // max of a queue (QUO-1)
	ClusterCapacity      Kind = "clusterCapacity"      // the capacity of the cluster (QUO-4)
	Nodes                Kind = "nodes"                // a node admits the ask and has enough free (NOD-25)
	// one of these nodes is not refused by affinity, spread or host ports (CON-13)
	OtherAllocations Kind = "otherAllocations"
	// the other members of its gang can be placed together with it (GAN-23)
	Gang Kind = "gang"
	// the resource manager has not refused every feasible node (ASK-33)
	Predicates Kind = "predicates"
)

// Gate is one condition for an ask to be placed. REST shows it as it is, like the other types of this package.
type Gate struct {
	Kind      Kind   `json:"kind"`              // see docs/EXPLAIN.md
	Subject   string `json:"subject,omitempty"` // a queue, a user or group in a queue, a node, a task group
	Closed    bool   `json:"closed"`
	Permanent bool   `json:"permanent,omitempty"` // closed, and no end of an allocation opens it
	Message   string `json:"message"`
	// of the requested resources that the gate bounds, by name; of nodes: those on nodeID
	Figures []Figure `json:"resources,omitempty"`
	// of nodes: the one that lacks the least, which resources are about
	Node       objects.NodeID   `json:"nodeID,omitempty"`
	HeldFor    []objects.Holder `json:"heldFor,omitempty"` // of nodes: the asks for which something is held on nodeID
	Running    int              `json:"running,omitempty"` // of gates of maxapplications: the applications that count
	MaxRunning uint64           `json:"maxRunning,omitempty"`
	// of nodes: how many with enough free have refused the ask before, and do not get it before until
	Refusing int               `json:"-"`
	Until    objects.Timestamp `json:"until,omitzero"`    // when it opens by itself at the latest
	Changes  []GateChange      `json:"changes,omitempty"` // each of them opens it
}

// Figure holds the quantities of one resource behind a gate.
type Figure struct {
	Resource  string             `json:"resource"`
	Requested resources.Quantity `json:"requested"`
	Free      resources.Quantity `json:"free"` // of a node at least 0; negative: more is used than max
	Max       resources.Quantity `json:"max"`
	Held      resources.Quantity `json:"held,omitempty"`    // on the node for other asks, which free is without
	Missing   resources.Quantity `json:"missing,omitempty"` // what must become free besides
}

// missingOf returns how much of a resource must become free before the ask could have what it requests.
func missingOf(requested, free resources.Quantity) resources.Quantity {
	return max(0, resources.SubSaturated(requested, free))
}

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
	q.add(Gate{Kind: ResourceManager, Closed: !f.Listening}, GateChange{Action: ConnectResourceManager})
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
				func(f Figure) bool { return f.Missing > c.Amounts.Get(f.Resource) }) {
				c.AlsoOpens = []Kind{ClusterCapacity}
			}
		}
	}
}

// add adds a gate, with its changes if it is closed.
func (q *question) add(g Gate, changes ...GateChange) {
	if g.Closed {
		g.Changes = changes
	}
	q.gates = append(q.gates, g.described())
}

// Pause returns a gate that is closed until a time, of a kind that the partition does not know.
func Pause(k Kind, until time.Time) Gate {
	return Gate{Kind: k, Closed: true, Until: objects.TimestampOf(until)}.described()
}

// described returns g with its message, and those of its changes.
func (g Gate) described() Gate {
	g.Message = g.String()
	for i := range g.Changes {
		g.Changes[i].Message = g.Changes[i].String()
	}
	return g
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
				GateChange{Action: SubmitMembers, Subject: t.Name, Count: uint64(max(missing, 0))})
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
			GateChange{Action: ReleaseApplication, Subject: string(a.ID())})
	}
	for above := a.Queue(); above != nil && q.facts.Stopped != nil; above = above.Parent() {
		if path := above.Path(); q.facts.Stopped(path) {
			q.add(Gate{Kind: StoppedQueue, Subject: string(path), Closed: true}, GateChange{Action: StartQueue, Queue: path})
		}
	}
	if a.Queue().Recovery() {
		q.add(Gate{Kind: RecoveryQueue, Subject: string(a.ID()), Closed: true},
			GateChange{Action: MoveApplication, Subject: string(a.ID())})
	}
}

// startGate adds the gate of a StateAware leaf.
func (q *question) startGate() {
	a := q.ask.Application()
	if !a.Queue().StateAware() {
		return
	}
	before := a.StartingBefore()
	change := GateChange{Action: EndApplications, Queue: a.Queue().Path(), Count: uint64(len(before))}
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
