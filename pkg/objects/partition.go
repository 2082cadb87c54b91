package objects

import (
	"cmp"
	"container/list"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Reasons a change is refused. The partition is untouched when one is returned.
var (
	ErrUnknown     = errors.New("unknown")                        // the thing named does not exist
	ErrExists      = errors.New("already exists")                 // the name is taken
	ErrOverLimit   = errors.New("over limit")                     // a decided placement above somebody's max
	ErrDoesNotFit  = errors.New("does not fit the node")          // a decided placement that the node cannot take
	ErrNoResources = errors.New("contains no resources")          // nothing is above zero
	ErrNegative    = errors.New("contains negative resources")    // something is below zero
	ErrOverflow    = errors.New("quantities add up past 64 bits") // the books could not hold it
	ErrQueueType   = errors.New("queue changes its type")         // a leaf with applications becomes a parent, or the reverse
	ErrNotLeaf     = errors.New("is not a leaf queue")
	ErrDraining    = errors.New("is being removed")
)

// Partition owns every object and is the only way to change one.
type Partition struct {
	conf        configs.Partition
	names       *resources.NameTable
	root        *Queue
	queues      map[QueuePath]*Queue
	apps        map[AppID]*Application
	allocations map[AllocationKey]*Allocation // pending and bound
	nodes       map[NodeID]*Node
	foreign     map[AllocationKey]*Foreign // foreign allocations
	shapes      map[string]*Shape

	appList   indexedList[Application] // apps
	nodeList  indexedList[Node]        // nodes
	queueList indexedList[Queue]       // queues
	watch     *Changes                 // nil: nobody wants to know what changes

	placedKinds         resources.Vector // what a node has or had, or was reported to run, since its name has its number; quantities mean nothing
	namesGivenAtRefresh uint64           // NameTable.Assigned when shares were measured

	capacity           resources.Vector // the sum of all nodes, schedulable or not (behaviour.md 3.4)
	schedulableNodes   index[*Node]     // schedulable nodes, the one to try first in front
	unschedulableNodes index[*Node]     // nodes that take asks which require them, and no others; in the same order
	joining            []*Node          // came into use since Settle; some may have gone again
	slots              slots
	freedNodes         []*Node // nodes that may have more room than before, the latest last
	freedBase          uint64  // how many gained before gained[0], and one
	nodeScorer         nodeScorer
	arrivals           uint64 // asks that ever came in

	lifetimes    Lifetimes
	completing   list.List // of completingSince: the one to complete next in front
	completed    history
	rejected     history
	stateChanges []ApplicationStateChange // since TakeStateChanges

	queueChanges []ChangedQueue // since TakeChangedQueues

	ramping    []ramp // oldest first allocation in front
	boundCount int    // how many allocations there are

	parked           []*AskGroup // what was set aside
	requeueRequested bool        // there has been news since
	sharesStale      bool        // what queues are measured against has changed since Settle
	trying           bool        // a Trial is open

	preemptionGeneration uint64                         // of anything that could let somebody preempt who could not before
	preempting           map[*Allocation]preemptionMark // told to leave, still there
	expectedReleases     []*Allocation                  // those of them that are not overdue, in the order in which they were told; some may have gone since
	timeoutsRestartedAt  time.Time                      // when time-outs of preemption began anew; zero: when what they are about did
	nominated            map[*Allocation]nomination     // pending, waiting for room on a node
	newPreemptors        []*AskGroup                    // since TakeNewPreemptors
	firstAskChanged      []*AskGroup                    // since TakeFirstAskChanged
	endedNominations     []EndedNomination              // since TakeEndedNominations
	nominees             []*Allocation                  // those of nominated, in the order in which they were
	changedNodes         []*Node                        // since TakeChangedNodes
	nodeSetGeneration    uint64                         // how often a node came or went
	configGeneration     uint64                         // how often the configuration changed
	budgets              budgetsInForce

	violating         []*Queue // those above a max that is enforced, but for those that are due; the first to be looked at in front
	dueForEnforcement []*Queue // those that should be looked at now
	toRecheck         []*Queue // those that may be above such a max and are not listed, or the reverse

	classNumbers     classNumbers // of the priority classes of all work
	hasClassQuotas   bool         // there may be a class quota somewhere, or asks that need one
	classQuotaQueues int          // how many queues have class quotas

	hasMaxApps    bool       // there is a bound on running applications somewhere
	maxAppsQueues int        // how many queues have one, of their own or in a limit
	refitAccounts []*account // which offer other shapes than before, until Partition.reindex
	fitScratch    Mask       // scratch
}

// NewPartition builds the queue tree of conf, with no nodes and no applications.
func NewPartition(conf configs.Partition) *Partition {
	return NewPartitionWithOptions(conf, DefaultOptions())
}

// NewPartitionWithOptions is NewPartition with other options.
func NewPartitionWithOptions(conf configs.Partition, opt Options) *Partition {
	keep := opt.Lifetimes
	p := &Partition{
		conf: conf, queues: map[QueuePath]*Queue{}, apps: map[AppID]*Application{},
		allocations: map[AllocationKey]*Allocation{}, nodes: map[NodeID]*Node{}, foreign: map[AllocationKey]*Foreign{},
		preempting: map[*Allocation]preemptionMark{}, nominated: map[*Allocation]nomination{},
		shapes: map[string]*Shape{}, slots: newSlots(opt.Shapes), freedBase: 1,
		lifetimes: keep,
		completed: newHistory(keep.Completed, keep.MaxEnded, false), rejected: newHistory(keep.Rejected, keep.MaxEnded, true),
	}
	p.schedulableNodes.compare = func(a, b *Node) int { return policies.CompareNodes(&a.key, &b.key) }
	p.unschedulableNodes.compare = p.schedulableNodes.compare
	p.appList.index = func(a *Application) *int32 { return &a.listIndex }
	p.nodeList.index = func(n *Node) *int32 { return &n.listIndex }
	p.queueList.index = func(q *Queue) *int32 { return &q.listIndex }
	p.names = resources.NewNameTableWithBounds(cmp.Or(opt.Names, resources.MaxNames), cmp.Or(opt.AskNames, resources.MaxAskNames), p.forgetKind)
	p.applyNodeOrder()
	p.root = p.buildQueue(conf.Root, nil, true)
	p.sharesStale = true
	p.hasMaxApps, p.hasClassQuotas = p.anyMaxApps(), p.anyClassQuotas()
	p.applyBudgets()
	p.RefreshShares()
	return p
}

// buildQueue builds the queue of conf, and those below it, under parent. managed: they are from the
// configuration.
func (p *Partition) buildQueue(conf configs.Queue, parent *Queue, managed bool) *Queue {
	q := newQueue(conf, parent)
	q.managed = managed
	p.queues[q.path] = q
	p.queueList.add(q)
	p.recordQueueChange(q)
	if parent != nil {
		parent.byName[conf.Name] = q
	}
	p.internNames(q)
	p.refitQueue(q)
	for _, c := range conf.Children {
		p.buildQueue(c, q, managed)
	}
	return q
}

// Name is the name of the partition.
func (p *Partition) Name() string { return p.conf.Name }

// Config is the configuration in force.
func (p *Partition) Config() configs.Partition { return p.conf }

// Root is the top of the queue tree.
func (p *Partition) Root() *Queue { return p.root }

// Queue finds a queue by its path.
func (p *Partition) Queue(path QueuePath) (*Queue, bool) {
	q, ok := p.queues[path]
	return q, ok
}

// Application finds an application.
func (p *Partition) Application(id AppID) (*Application, bool) {
	a, ok := p.apps[id]
	return a, ok
}

// Allocation finds an ask or an allocation.
func (p *Partition) Allocation(key AllocationKey) (*Allocation, bool) {
	x, ok := p.allocations[key]
	return x, ok
}

// Node finds a node.
func (p *Partition) Node(id NodeID) (*Node, bool) {
	n, ok := p.nodes[id]
	return n, ok
}

// FirstFittingNode is the first node, in node order, that takes s now; nil: none does.
func (p *Partition) FirstFittingNode(s *Shape) *Node {
	if p.fitsNoNode(s) {
		return nil
	}
	for n := range p.FittingNodes(s) {
		return n
	}
	s.noFitSince = p.freedBase + uint64(len(p.freedNodes))
	return nil
}

// FittingNodes yields the nodes that take s now, in node order.
func (p *Partition) FittingNodes(s *Shape) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if s.required != "" {
			if n, ok := p.nodes[s.required]; ok && n.Fits(s) {
				yield(n)
			}
			return
		}
		for m := range p.schedulableNodes.eachWithSlot(s.slot) {
			if m.item.Fits(s) && !yield(m.item) {
				return
			}
		}
	}
}

// FeasibleShapes sets f to the shapes that some node takes and the cluster has room for.
func (p *Partition) FeasibleShapes(f *Mask) {
	f.copyFrom(p.schedulableNodes.union())
	f.unionWith(p.unschedulableNodes.union())
	if p.slots.requiredInCatchAll > 0 {
		f.set(p.slots.catchAll.slot, true)
	}
	f.intersectWith(p.root.fit)
}

// Nodes are all nodes in ID order. It is made on every call.
func (p *Partition) Nodes() []*Node {
	out := make([]*Node, 0, len(p.nodes))
	for _, n := range p.nodes {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *Node) int { return cmp.Compare(a.id, b.id) })
	return out
}

// Capacity is the sum of all nodes. Read-only.
func (p *Partition) Capacity() resources.Vector { return p.capacity }

// Amounts gives the quantities of a book their names back.
func (p *Partition) Amounts(v resources.Vector) resources.Amounts { return p.names.Amounts(v) }

// Counts are how many applications, pending asks and allocations there are.
func (p *Partition) Counts() (applications, asks, allocations int) {
	return len(p.apps), len(p.allocations) - p.boundCount, p.boundCount
}

// Empty reports whether there is neither a node nor an application.
func (p *Partition) Empty() bool { return len(p.nodes) == 0 && len(p.apps) == 0 }

// checkQuantities checks what came in as amounts: all that a ledger needs to be exact later. by is
// whose bound on names counts.
func (p *Partition) checkQuantities(a resources.Amounts, by resources.Holder) error {
	switch {
	case a.HasNegative():
		return ErrNegative
	case a.IsZero():
		return ErrNoResources
	}
	return p.names.Admit(a, by)
}
