package scheduler

import (
	"cmp"

	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// viewCache has the views of all objects of a partition, each as of when it was last viewed (ADR 32). While
// changed objects remain to be viewed the views are of different moments; when none remain, they are the
// current state (OBS-5).
type viewCache struct {
	part     *objects.Partition
	fairness *fairness.Engine
	changes  *objects.Changes

	queues       map[*objects.Queue]*queueCache
	applications map[*objects.Application]*applicationCache
	nodes        map[objects.NodeID]*nodeViewCache // by ID, because allocations of a node may be viewed before the node
	nodeViews    persistent.Builder[NodeView]

	stale      [][]*queueCache // queues to view again, by depth
	staleCount int             // the number of queues in stale

	lookupKey AllocationView // scratch: the key for searches in lists of allocations
}

// queueCache is the view of a queue, and the lists for its next view.
type queueCache struct {
	queue        *objects.Queue
	parent       *queueCache // nil: root
	depth        int
	view         *QueueView // nil: none yet
	stale        bool       // its ancestors are stale too
	removed      bool
	children     persistent.Builder[QueueView]
	applications persistent.Builder[ApplicationView]
	limits       persistent.Builder[quota.LimitUsage]
}

type applicationCache struct {
	leaf        *queueCache
	view        *ApplicationView // nil: none yet
	allocations persistent.Builder[AllocationView]
}

type nodeViewCache struct {
	allocations persistent.Builder[AllocationView]
}

func newViewCache(p *objects.Partition, f *fairness.Engine) *viewCache {
	m := &viewCache{
		part: p, fairness: f, changes: p.Watch(), queues: map[*objects.Queue]*queueCache{},
		applications: map[*objects.Application]*applicationCache{}, nodes: map[objects.NodeID]*nodeViewCache{},
	}
	m.nodeViews.Compare = func(a, b *NodeView) int { return cmp.Compare(a.ID, b.ID) }
	return m
}

// remaining returns the number of objects to be viewed until the views are the current state.
func (m *viewCache) remaining() int { return m.changes.Len() + m.staleCount }

// refresh views up to budget changed objects.
func (m *viewCache) refresh(budget int) {
	for ; budget > 0; budget-- {
		switch x := m.changes.Next().(type) {
		case *objects.Allocation:
			m.viewAllocation(x)
		case objects.LimitChange:
			m.viewLimit(x)
		case *objects.Application:
			m.viewApplication(x)
		case *objects.Node:
			m.viewNode(x)
		case *objects.Queue:
			m.queueChanged(x)
		case nil:
			if !m.viewQueue() {
				return
			}
		}
	}
}

// viewAllocation puts the current view of x on the lists of its application and its node, and removes the
// previous view from lists that x has left.
func (m *viewCache) viewAllocation(x *objects.Allocation) {
	now, known := m.part.Allocation(x.Key())
	if known && now != x && now.Application() == x.Application() {
		return // the key was used again: its new holder is a change too, and its view replaces this one
	}
	a := m.applications[x.Application()]
	if a == nil {
		if !known || now != x {
			return
		}
		a = m.applicationCacheOf(x.Application())
	}
	m.lookupKey.Ask = x.Ask()
	if now != x {
		if previous := a.allocations.Remove(&m.lookupKey); previous != nil {
			m.removeFromNode(previous)
		}
		return
	}
	v := viewAllocation(m.part, x)
	if previous := a.allocations.Put(v); previous != nil && previous.Node != v.Node {
		m.removeFromNode(previous)
	}
	if v.Node != "" {
		n := m.nodes[v.Node]
		if n == nil {
			n = &nodeViewCache{}
			n.allocations.Compare = compareAllocations
			m.nodes[v.Node] = n
		}
		n.allocations.Put(v)
	}
}

// removeFromNode removes a previous view from the list of its node, unless another view has taken its key
// there.
func (m *viewCache) removeFromNode(previous *AllocationView) {
	if n := m.nodes[previous.Node]; n != nil && n.allocations.Find(previous) == previous {
		n.allocations.Remove(previous)
	}
}

func compareAllocations(a, b *AllocationView) int { return cmp.Compare(a.Ask.Key, b.Ask.Key) }

func (m *viewCache) applicationCacheOf(x *objects.Application) *applicationCache {
	a := m.applications[x]
	if a == nil {
		a = &applicationCache{leaf: m.queueCacheOf(x.Queue())}
		a.allocations.Compare = compareAllocations
		m.applications[x] = a
	}
	return a
}

func (m *viewCache) viewApplication(x *objects.Application) {
	if now, ok := m.part.Application(x.ID()); ok && now == x {
		a := m.applicationCacheOf(x)
		m.followMove(a, x)
		a.view = viewApplication(m.part, m.fairness, x, a.allocations.List())
		a.leaf.applications.Put(a.view)
		m.queueChanged(x.Queue())
		return
	}
	a := m.applications[x]
	if a == nil {
		return
	}
	delete(m.applications, x)
	if a.view != nil && a.leaf.applications.Find(a.view) == a.view { // else another application has its ID
		a.leaf.applications.Remove(a.view)
		m.queueChanged(x.Queue())
	}
}

// followMove takes the view of x out of the list of its former leaf, if x was moved.
func (m *viewCache) followMove(a *applicationCache, x *objects.Application) {
	if a.leaf.queue == x.Queue() {
		return
	}
	if a.view != nil && a.leaf.applications.Find(a.view) == a.view {
		a.leaf.applications.Remove(a.view)
		m.markStale(a.leaf)
	}
	a.leaf = m.queueCacheOf(x.Queue())
}

func (m *viewCache) viewNode(x *objects.Node) {
	n, ok := m.part.Node(x.ID())
	if !ok {
		delete(m.nodes, x.ID())
		m.nodeViews.Remove(&NodeView{ID: x.ID()})
		return
	}
	var allocations persistent.List[AllocationView]
	if cache := m.nodes[x.ID()]; cache != nil {
		allocations = cache.allocations.List()
	}
	m.nodeViews.Put(viewNode(m.part, n, allocations))
}

func (m *viewCache) viewLimit(x objects.LimitChange) {
	q := m.queues[x.Queue]
	if q == nil {
		if x.Usage == nil {
			return
		}
		q = m.queueCacheOf(x.Queue)
	}
	if x.Usage == nil {
		q.limits.Remove(&quota.LimitUsage{UserOrGroup: x.UserOrGroup})
	} else {
		q.limits.Put(x.Usage)
	}
	m.queueChanged(x.Queue)
}

// queueCacheOf is the cache of a queue; it is made if there is none.
func (m *viewCache) queueCacheOf(x *objects.Queue) *queueCache {
	q := m.queues[x]
	if q != nil {
		return q
	}
	q = &queueCache{queue: x}
	if x.Parent() != nil {
		q.parent = m.queueCacheOf(x.Parent())
		q.depth = q.parent.depth + 1
	}
	q.children.Compare = func(a, b *QueueView) int { return cmp.Compare(a.Path, b.Path) }
	q.applications.Compare = func(a, b *ApplicationView) int { return cmp.Compare(a.ID, b.ID) }
	q.limits.Compare = (*quota.LimitUsage).Compare
	m.queues[x] = q
	return q
}

// queueChanged marks a queue and its ancestors stale, or removes a queue that is gone.
func (m *viewCache) queueChanged(x *objects.Queue) {
	if now, ok := m.part.Queue(x.Path()); !ok || now != x {
		q := m.queues[x]
		if q == nil {
			return
		}
		delete(m.queues, x)
		q.removed = true
		if q.view != nil && q.parent.children.Find(q.view) == q.view { // else another queue has its path
			q.parent.children.Remove(q.view)
		}
		m.markStale(q.parent)
		return
	}
	m.markStale(m.queueCacheOf(x))
}

func (m *viewCache) markStale(q *queueCache) {
	for ; q != nil && !q.stale && !q.removed; q = q.parent {
		q.stale = true
		for len(m.stale) <= q.depth {
			m.stale = append(m.stale, nil)
		}
		m.stale[q.depth] = append(m.stale[q.depth], q)
		m.staleCount++
	}
}

// viewQueue views one of the deepest stale queues. ok is false when there is none.
func (m *viewCache) viewQueue() (ok bool) {
	for d := len(m.stale) - 1; d >= 0; d-- {
		end := len(m.stale[d]) - 1
		if end < 0 {
			continue
		}
		q := m.stale[d][end]
		m.stale[d], q.stale = m.stale[d][:end], false
		m.staleCount--
		if q.removed {
			return true
		}
		q.view = viewQueue(m.part, m.fairness, q.queue, q.children.List(), q.applications.List(), q.limits.List())
		if q.parent != nil {
			q.parent.children.Put(q.view)
		}
		return true
	}
	return false
}
