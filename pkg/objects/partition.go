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
	ErrUnknown   = errors.New("unknown")                        // the thing named does not exist
	ErrExists    = errors.New("already exists")                 // the name is taken
	ErrOverLimit = errors.New("over limit")                     // a decided placement above somebody's max
	ErrNoRoom    = errors.New("does not fit the node")          // a decided placement that the node cannot take
	ErrAmounts   = errors.New("contains no resources")          // nothing is above zero
	ErrNegative  = errors.New("contains negative resources")    // something is below zero
	ErrOverflow  = errors.New("quantities add up past 64 bits") // the books could not hold it
	ErrQueueType = errors.New("queue changes its type")         // a leaf with applications becomes a parent, or the reverse
	ErrLeaf      = errors.New("is not a leaf queue")
	ErrDraining  = errors.New("is being removed")
)

// Partition owns every object and is the only way to change one.
type Partition struct {
	conf   configs.Partition
	names  *resources.Names
	root   *Queue
	queues map[QueuePath]*Queue
	apps   map[AppID]*Application
	work   map[AllocationKey]*Allocation // pending and bound
	nodes  map[NodeID]*Node
	others map[AllocationKey]*Foreign // foreign allocations
	shapes map[string]*Shape

	appList   listing[Application] // apps
	nodeList  listing[Node]        // nodes
	queueList listing[Queue]       // queues
	watch     *Changes             // nil: nobody wants to know what changes

	placed   resources.Vector // what a node has or had, or was reported to run, since its name has its number; quantities mean nothing
	measured uint64           // Names.Given when shares were measured

	capacity      resources.Vector // the sum of all nodes, schedulable or not (behaviour.md 3.4)
	byScore       index[*Node]     // schedulable nodes, the one to try first in front
	unschedulable index[*Node]     // nodes that take asks which require them, and no others; in the same order
	joining       []*Node          // came into use since Settle; some may have gone again
	slots         slots
	gained        []*Node // nodes that may have more room than before, the latest last
	gainedAt      uint64  // how many gained before gained[0], and one
	scale         scale
	arrivals      uint64 // asks that ever came in

	lifetimes  Lifetimes
	completing list.List // of completingSince: the one to complete next in front
	completed  history
	rejected   history
	entered    []Entered // since TakeEntered

	queueChanges []ChangedQueue // since TakeChangedQueues

	ramping []ramp // oldest first allocation in front
	bound   int    // how many allocations there are

	resting []*Class // what was set aside
	stirred bool     // there has been news since
	unsound bool     // what queues are measured against has changed since Settle
	trying  bool     // a Trial is open

	changes   uint64                     // of anything that could let somebody preempt who could not before
	leaving   map[*Allocation]departure  // told to leave, still there
	told      []*Allocation              // those of them that are not overdue, in the order in which they were told; some may have gone since
	patience  time.Time                  // when time-outs of preemption began anew; zero: when what they are about did
	nominated map[*Allocation]nomination // pending, waiting for room on a node
	fresh     []*Class                   // since TakeFresh
	overtaken []*Class                   // since TakeOvertaken
	lapsed    []Lapsed                   // since TakeLapsed
	nominees  []*Allocation              // those of nominated, in the order in which they were
	touched   []*Node                    // since TakeTouched
	nodeSet   uint64                     // how often a node came or went
	rules     uint64                     // how often the configuration changed
	guards    guards

	above    []*Queue // those above a max that is enforced, but for those that are due; the first to be looked at in front
	due      []*Queue // those that should be looked at now
	doubtful []*Queue // those that may be above such a max and are not listed, or the reverse

	classNames classNames // of the priority classes of all work
	metered    bool       // there may be a class quota somewhere, or asks that need one
	scoped     int        // how many queues have class quotas

	gated   bool       // there is a bound on running applications somewhere
	bounds  int        // how many queues have one, of their own or in a limit
	turned  []*account // which offer other shapes than before, until Partition.stand
	fitting Mask       // scratch
}

// NewPartition builds the queue tree of conf, with no nodes and no applications.
func NewPartition(conf configs.Partition) *Partition { return NewWith(conf, DefaultOptions()) }

// NewWith is NewPartition with other options.
func NewWith(conf configs.Partition, opt Options) *Partition {
	keep := opt.Lifetimes
	p := &Partition{
		conf: conf, queues: map[QueuePath]*Queue{}, apps: map[AppID]*Application{},
		work: map[AllocationKey]*Allocation{}, nodes: map[NodeID]*Node{}, others: map[AllocationKey]*Foreign{},
		leaving: map[*Allocation]departure{}, nominated: map[*Allocation]nomination{},
		shapes: map[string]*Shape{}, slots: newSlots(opt.Shapes), gainedAt: 1,
		lifetimes: keep,
		completed: newHistory(keep.Completed, keep.Ended, false), rejected: newHistory(keep.Rejected, keep.Ended, true),
	}
	p.byScore.compare = func(a, b *Node) int { return policies.CompareNodes(&a.key, &b.key) }
	p.unschedulable.compare = p.byScore.compare
	p.appList.place = func(a *Application) *int32 { return &a.place }
	p.nodeList.place = func(n *Node) *int32 { return &n.place }
	p.queueList.place = func(q *Queue) *int32 { return &q.place }
	p.names = resources.NewNamesOf(cmp.Or(opt.Names, resources.MaxNames), cmp.Or(opt.AskNames, resources.MaxAskNames), p.forgetKind)
	p.useScale()
	p.root = p.grow(conf.Root, nil, true)
	p.unsound = true
	p.gated, p.metered = p.isGated(), p.isMetered()
	p.useBudgets()
	p.Settle()
	return p
}

// grow builds the queue of conf, and those below it, under parent. managed: they are from the
// configuration.
func (p *Partition) grow(conf configs.Queue, parent *Queue, managed bool) *Queue {
	q := newQueue(conf, parent)
	q.managed = managed
	p.queues[q.path] = q
	p.queueList.add(q)
	p.changedQueue(q)
	if parent != nil {
		parent.byName[conf.Name] = q
	}
	p.intern(q)
	p.refit(q)
	for _, c := range conf.Children {
		p.grow(c, q, managed)
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
	x, ok := p.work[key]
	return x, ok
}

// Node finds a node.
func (p *Partition) Node(id NodeID) (*Node, bool) {
	n, ok := p.nodes[id]
	return n, ok
}

// NodeFor is the first node, in node order, that takes s now; nil: none does.
func (p *Partition) NodeFor(s *Shape) *Node {
	if p.barren(s) {
		return nil
	}
	for n := range p.NodesFor(s) {
		return n
	}
	s.barren = p.gainedAt + uint64(len(p.gained))
	return nil
}

// NodesFor yields the nodes that take s now, in node order.
func (p *Partition) NodesFor(s *Shape) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if s.required != "" {
			if n, ok := p.nodes[s.required]; ok && n.Takes(s) {
				yield(n)
			}
			return
		}
		for m := range p.byScore.having(s.slot) {
			if m.who.Takes(s) && !yield(m.who) {
				return
			}
		}
	}
}

// Possible sets f to the shapes that some node takes and the cluster has room for.
func (p *Partition) Possible(f *Mask) {
	f.copyFrom(p.byScore.all())
	f.join(p.unschedulable.all())
	if p.slots.adrift > 0 {
		f.put(p.slots.any.slot, true)
	}
	f.narrow(p.root.fit)
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
	return len(p.apps), len(p.work) - p.bound, p.bound
}

// Empty reports whether there is neither a node nor an application.
func (p *Partition) Empty() bool { return len(p.nodes) == 0 && len(p.apps) == 0 }

// quantities checks what came in as amounts: all that a ledger needs to be exact later. by is
// whose bound on names counts.
func (p *Partition) quantities(a resources.Amounts, by resources.Holder) error {
	switch {
	case a.HasNegative():
		return ErrNegative
	case a.IsZero():
		return ErrAmounts
	}
	return p.names.Admit(a, by)
}
