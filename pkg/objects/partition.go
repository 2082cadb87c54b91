package objects

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Errors of refused changes. The partition is unchanged when one is returned.
var (
	ErrUnknown     = errors.New("unknown")                        // the named object does not exist
	ErrExists      = errors.New("already exists")                 // the name is in use
	ErrOverLimit   = errors.New("over limit")                     // a decided placement above a max or a limit
	ErrDoesNotFit  = errors.New("does not fit the node")          // a decided placement that exceeds the node
	ErrNoResources = errors.New("contains no resources")          // no quantity is above zero
	ErrNegative    = errors.New("contains negative resources")    // a quantity is below zero
	ErrOverflow    = errors.New("quantities add up past 64 bits") // a total would exceed 64 bits
	ErrQueueType   = errors.New("queue changes its type")         // a leaf or parent with applications would change
	ErrNotLeaf     = errors.New("is not a leaf queue")
	ErrDraining    = errors.New("is being removed")
	ErrDrained     = errors.New("is drained by an operator") // it accepts no new application
	ErrFailing     = errors.New("is Failing")                // it takes no asks and no allocations
	ErrCancelled   = errors.New("was cancelled by an operator")

	ErrMemberConstraints = errors.New("has virtual placeholders: its asks can have no pod affinity, topology spread " +
		"or host ports")
	ErrVirtualPlaceholders = errors.New("has virtual placeholders, and takes no others")
)

// Partition owns all objects; only its methods change them.
type Partition struct {
	conf        configs.Partition
	names       *resources.NameTable
	root        *Queue
	queues      map[QueuePath]*Queue
	apps        map[AppID]*Application
	allocations map[AllocationKey]*Allocation // pending and bound; no decision depends on its order
	nodes       map[NodeID]*Node
	foreign     foreignTable
	shapes      *feasibility.Table
	journal     journal

	lists     objectLists
	marks     marks
	deadlines deadlines
	quotas    quota.Tree
	budgets   budgets.Tracker[*Allocation]
	gangs     gangState

	placedResources resources.Vector // resources that a node or an allocation has, or had while the name has its index
	classNumbers    classNumbers     // of the priority classes of all asks and allocations
	arrivals        uint64           // how many asks were ever admitted
	boundCount      int              // number of allocations
}

// objectLists are lists of all objects, for iteration in steps, and of some.
type objectLists struct {
	apps   indexedList[Application]
	nodes  indexedList[Node]
	queues indexedList[Queue]
	moved  map[*Application]*Moved // applications that operators have moved, in no order; nil: none ever was
}

// setIndexes sets where an object has its index on its list.
func (l *objectLists) setIndexes() {
	l.apps.index = func(a *Application) *int32 { return &a.listIndex }
	l.nodes.index = func(n *Node) *int32 { return &n.listIndex }
	l.queues.index = func(q *Queue) *int32 { return &q.listIndex }
}

// NewPartition builds the queue tree of conf, with no nodes and no applications.
func NewPartition(conf configs.Partition) *Partition {
	return NewPartitionWithOptions(conf, DefaultOptions())
}

// NewPartitionWithOptions is NewPartition with options.
func NewPartitionWithOptions(conf configs.Partition, opt Options) *Partition {
	p := &Partition{
		conf: conf, queues: map[QueuePath]*Queue{}, apps: map[AppID]*Application{},
		allocations: map[AllocationKey]*Allocation{}, nodes: map[NodeID]*Node{}, foreign: newForeignTable(),
		shapes: feasibility.NewTable(opt.Shapes), marks: newMarks(), deadlines: newDeadlines(opt.Lifetimes),
		gangs: newGangState(),
	}
	for _, x := range p.journal.consumers() {
		p.journal.attach(x)
	}
	p.journal.order.schedulable.Order = &nodeOrder
	p.journal.order.unschedulable.Order = &nodeOrder
	p.lists.setIndexes()
	p.names = resources.NewNameTableWithBounds(cmp.Or(opt.Names, resources.MaxNames),
		cmp.Or(opt.AskNames, resources.MaxAskNames), p.forgetResource)
	p.journal.order.shapes, p.journal.order.names = p.shapes, p.names
	p.journal.order.applyNodeOrder(&p.conf)
	p.root = p.buildQueue(conf.Root, nil, true)
	p.journal.order.root = &p.root.quota
	p.journal.order.sharesStale = true
	p.quotas.ApplyMaxApplications()
	p.quotas.ApplyClassQuotas(conf.ClassesNeedingQuota)
	p.applyBudgets()
	p.RefreshShares()
	return p
}

// buildQueue builds the queue of conf and the queues below it. parent is nil for root; managed says
// that they are in the configuration (QUE-2).
func (p *Partition) buildQueue(conf configs.Queue, parent *Queue, managed bool) *Queue {
	q := newQueue(conf, parent)
	q.managed = managed
	p.queues[q.path] = q
	p.lists.queues.add(q)
	if parent != nil {
		parent.addChild(q)
	}
	p.internNames(q)
	p.journal.post(Change{Kind: QueueSettingsChanged, Queue: q})
	for _, c := range conf.Children {
		p.buildQueue(c, q, managed)
	}
	return q
}

// Name is the name of the partition.
func (p *Partition) Name() string { return p.conf.Name }

// Config is the configuration in force.
func (p *Partition) Config() configs.Partition { return p.conf }

// Root is the root queue.
func (p *Partition) Root() *Queue { return p.root }

// Queue finds a queue by its path. ok is false if there is none.
func (p *Partition) Queue(path QueuePath) (*Queue, bool) {
	q, ok := p.queues[path]
	return q, ok
}

// Application finds an application by its ID.
func (p *Partition) Application(id AppID) (*Application, bool) {
	a, ok := p.apps[id]
	return a, ok
}

// Allocation finds an ask or an allocation by its key.
func (p *Partition) Allocation(key AllocationKey) (*Allocation, bool) {
	x, ok := p.allocations[key]
	return x, ok
}

// Node finds a node by its ID.
func (p *Partition) Node(id NodeID) (*Node, bool) {
	n, ok := p.nodes[id]
	return n, ok
}

// FirstFittingNode is the first node in node order that fits s now; nil: there is none.
func (p *Partition) FirstFittingNode(s *feasibility.Shape) *Node {
	if p.journal.retries.nodes.FitsNone(s) {
		return nil
	}
	if s.Exact() && s.RequiredNode() == "" { // the first with the slot of s fits it, unless it holds resources for others
		if n, ok := p.journal.order.schedulable.First(s.Mask()); ok && n.Fits(s) {
			return n
		}
	}
	for n := range p.FittingNodes(s) {
		return n
	}
	p.journal.retries.nodes.SetFitsNone(s)
	return nil
}

// FittingNodes yields the nodes that fit s now, in node order.
func (p *Partition) FittingNodes(s *feasibility.Shape) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if id := s.RequiredNode(); id != "" {
			if n, ok := p.nodes[NodeID(id)]; ok && n.Fits(s) {
				yield(n)
			}
			return
		}
		for n := range p.journal.order.schedulable.EachWithSlot(s.Slot()) {
			if n.Fits(s) && !yield(n) {
				return
			}
		}
	}
}

// EachInOrder yields the nodes in node order, which are the schedulable ones, but for those that have become so since
// RefreshShares.
func (p *Partition) EachInOrder(yield func(*Node) bool) { p.journal.order.schedulable.All(yield) }

// FeasibleShapes sets f to the shapes for which a node and the cluster as a whole have space.
func (p *Partition) FeasibleShapes(f *feasibility.Mask) {
	f.CopyFrom(p.journal.order.schedulable.Union())
	f.UnionWith(p.journal.order.unschedulable.Union())
	p.shapes.AddCatchAll(f)
	p.root.RestrictToHeadroom(*f)
}

// Nodes are all nodes in ID order, in a new slice.
func (p *Partition) Nodes() []*Node {
	out := make([]*Node, 0, len(p.nodes))
	for _, n := range p.nodes {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *Node) int { return cmp.Compare(a.ID(), b.ID()) })
	return out
}

// Capacity is the sum of all nodes. Read-only.
func (p *Partition) Capacity() resources.Vector { return p.root.quota.Capacity() }

// Amounts converts a vector to quantities by resource name.
func (p *Partition) Amounts(v resources.Vector) resources.Amounts { return p.names.Amounts(v) }

// Counts are the numbers of applications, pending asks and allocations.
func (p *Partition) Counts() (applications, asks, allocations int) {
	return len(p.apps), len(p.allocations) - p.boundCount, p.boundCount
}

// Empty reports whether there is neither a node nor an application.
func (p *Partition) Empty() bool { return len(p.nodes) == 0 && len(p.apps) == 0 }

// checkQuantities validates quantities from outside: one must be above zero, none below, and the
// resource names must be within the bounds for by.
func checkQuantities(names *resources.NameTable, a resources.Amounts, by resources.Holder) error {
	switch {
	case a.HasNegative():
		return ErrNegative
	case a.IsZero():
		return ErrNoResources
	}
	return names.Admit(a, by)
}

// Headroom returns how much more q may allocate, for display (QUO-11).
func (p *Partition) Headroom(q *Queue) resources.Limit { return q.quota.Headroom(p.names) }

// NodeCount returns the number of nodes of p, schedulable or not.
func NodeCount(p *Partition) int { return len(p.nodes) }

// EachNode yields all nodes in no order.
func (p *Partition) EachNode(yield func(*Node) bool) {
	for _, n := range p.lists.nodes.all {
		if !yield(n) {
			return
		}
	}
}

// ForeignAllocation finds a foreign allocation by its key.
func (p *Partition) ForeignAllocation(key AllocationKey) (*Foreign, bool) {
	f, ok := p.foreign.byKey[key]
	return f, ok
}

// ResourceName is the name of a resource.
func (p *Partition) ResourceName(k resources.Index) string { return p.names.Name(k) }

// Each kind of name has its own type, so that a node cannot be passed for a queue. Names are
// compared byte for byte; queue paths are in lower case.
type (
	QueuePath     string // root, root.a, root.a.b
	AppID         string
	AllocationKey string // of an ask or an allocation, unique in a partition
	NodeID        string
)

// RootPath is the path of the root queue.
const RootPath QueuePath = "root"

// Child is the path of the queue called name below p.
func (p QueuePath) Child(name string) QueuePath { return p + "." + QueuePath(name) }

// Parts are the names of the queues along p, root first.
func (p QueuePath) Parts() []string { return strings.Split(string(p), ".") }
