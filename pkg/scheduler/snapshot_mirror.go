package scheduler

import (
	"cmp"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
)

// mirror is the views of all objects of a partition, as of when each was last viewed (ADR 32).
// While something is left to be viewed again they are of different moments; when nothing is,
// they are the state as it is now.
type mirror struct {
	part    *objects.Partition
	changes *objects.Changes

	queues map[*objects.Queue]*queueMirror
	apps   map[*objects.Application]*appMirror
	nodes  map[objects.NodeID]*nodeMirror // by ID, so that work of a node finds it before it is viewed itself
	all    persistent.Builder[NodeView]

	stale  [][]*queueMirror // queues to be viewed again, by how deep they are
	staled int              // how many

	sought WorkView // scratch: what a list of work is asked for
}

// queueMirror is the view of a queue, and the lists for the next one.
type queueMirror struct {
	queue    *objects.Queue
	above    *queueMirror // nil: root
	depth    int
	view     *QueueView // nil: none yet
	stale    bool       // so are all above it
	gone     bool
	children persistent.Builder[QueueView]
	apps     persistent.Builder[ApplicationView]
	limits   persistent.Builder[objects.Limited]
}

type appMirror struct {
	leaf *queueMirror
	view *ApplicationView // nil: none yet
	work persistent.Builder[WorkView]
}

type nodeMirror struct {
	work persistent.Builder[WorkView]
}

func newMirror(p *objects.Partition) *mirror {
	m := &mirror{
		part: p, changes: p.Watch(), queues: map[*objects.Queue]*queueMirror{},
		apps: map[*objects.Application]*appMirror{}, nodes: map[objects.NodeID]*nodeMirror{},
	}
	m.all.Compare = func(a, b *NodeView) int { return cmp.Compare(a.ID, b.ID) }
	return m
}

// left is how many objects have to be viewed before the views are the state as it is.
func (m *mirror) left() int { return m.changes.Len() + m.staled }

// refresh views up to so many objects again.
func (m *mirror) refresh(budget int) {
	for ; budget > 0; budget-- {
		switch x := m.changes.Next().(type) {
		case *objects.Allocation:
			m.viewWork(x)
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

// viewWork puts the view of x, as it is now, on the lists of its application and of its node,
// and takes the one before off those where it is no more.
func (m *mirror) viewWork(x *objects.Allocation) {
	now, known := m.part.Allocation(x.Key())
	if known && now != x && now.Application() == x.Application() {
		return // the key was used again, so it is listed, and its view replaces this one
	}
	a := m.apps[x.Application()]
	if a == nil {
		if !known || now != x {
			return
		}
		a = m.appOf(x.Application())
	}
	m.sought.Ask = x.Ask()
	if now != x {
		if was := a.work.Remove(&m.sought); was != nil {
			m.leaveNode(was)
		}
		return
	}
	v := viewWork(m.part, x)
	if was := a.work.Put(v); was != nil && was.Node != v.Node {
		m.leaveNode(was)
	}
	if v.Node != "" {
		n := m.nodes[v.Node]
		if n == nil {
			n = &nodeMirror{}
			n.work.Compare = compareWork
			m.nodes[v.Node] = n
		}
		n.work.Put(v)
	}
}

// leaveNode takes an old view off the list of its node. Another one of its key may be there by
// now, which stays.
func (m *mirror) leaveNode(was *WorkView) {
	if n := m.nodes[was.Node]; n != nil && n.work.Find(was) == was {
		n.work.Remove(was)
	}
}

func compareWork(a, b *WorkView) int { return cmp.Compare(a.Ask.Key, b.Ask.Key) }

func (m *mirror) appOf(x *objects.Application) *appMirror {
	a := m.apps[x]
	if a == nil {
		a = &appMirror{leaf: m.queueOf(x.Queue())}
		a.work.Compare = compareWork
		m.apps[x] = a
	}
	return a
}

func (m *mirror) viewApplication(x *objects.Application) {
	if now, ok := m.part.Application(x.ID()); ok && now == x {
		a := m.appOf(x)
		a.view = viewApplication(m.part, x, a.work.List())
		a.leaf.apps.Put(a.view)
		m.queueChanged(x.Queue())
		return
	}
	a := m.apps[x]
	if a == nil {
		return
	}
	delete(m.apps, x)
	if a.view != nil && a.leaf.apps.Find(a.view) == a.view { // else its ID was used again
		a.leaf.apps.Remove(a.view)
		m.queueChanged(x.Queue())
	}
}

func (m *mirror) viewNode(x *objects.Node) {
	n, ok := m.part.Node(x.ID())
	if !ok {
		delete(m.nodes, x.ID())
		m.all.Remove(&NodeView{ID: x.ID()})
		return
	}
	var work persistent.List[WorkView]
	if with := m.nodes[x.ID()]; with != nil {
		work = with.work.List()
	}
	m.all.Put(viewNode(m.part, n, work))
}

func (m *mirror) viewLimit(x objects.LimitChange) {
	q := m.queues[x.Queue]
	if q == nil {
		if x.Now == nil {
			return
		}
		q = m.queueOf(x.Queue)
	}
	if x.Now == nil {
		q.limits.Remove(&objects.Limited{Holder: x.Holder})
	} else {
		q.limits.Put(x.Now)
	}
	m.queueChanged(x.Queue)
}

// queueOf is the mirror of a queue that is there.
func (m *mirror) queueOf(x *objects.Queue) *queueMirror {
	q := m.queues[x]
	if q != nil {
		return q
	}
	q = &queueMirror{queue: x}
	if x.Parent() != nil {
		q.above = m.queueOf(x.Parent())
		q.depth = q.above.depth + 1
	}
	q.children.Compare = func(a, b *QueueView) int { return cmp.Compare(a.Path, b.Path) }
	q.apps.Compare = func(a, b *ApplicationView) int { return cmp.Compare(a.ID, b.ID) }
	q.limits.Compare = (*objects.Limited).Compare
	m.queues[x] = q
	return q
}

// queueChanged notes that the views of a queue, and of those above it, are old, or that it has
// gone.
func (m *mirror) queueChanged(x *objects.Queue) {
	if now, ok := m.part.Queue(x.Path()); !ok || now != x {
		q := m.queues[x]
		if q == nil {
			return
		}
		delete(m.queues, x)
		q.gone = true
		if q.view != nil && q.above.children.Find(q.view) == q.view { // else its path was used again
			q.above.children.Remove(q.view)
		}
		m.outdate(q.above)
		return
	}
	m.outdate(m.queueOf(x))
}

func (m *mirror) outdate(q *queueMirror) {
	for ; q != nil && !q.stale && !q.gone; q = q.above {
		q.stale = true
		for len(m.stale) <= q.depth {
			m.stale = append(m.stale, nil)
		}
		m.stale[q.depth] = append(m.stale[q.depth], q)
		m.staled++
	}
}

// viewQueue views one of the lowest queues whose views are old. ok is false when there is none.
func (m *mirror) viewQueue() (ok bool) {
	for d := len(m.stale) - 1; d >= 0; d-- {
		end := len(m.stale[d]) - 1
		if end < 0 {
			continue
		}
		q := m.stale[d][end]
		m.stale[d], q.stale = m.stale[d][:end], false
		if m.staled--; q.gone {
			return true
		}
		q.view = viewQueue(m.part, q.queue, q.children.List(), q.apps.List(), q.limits.List())
		if q.above != nil {
			q.above.children.Put(q.view)
		}
		return true
	}
	return false
}
