package webservice

import (
	"hash/maphash"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Applications and nodes must say the same of where allocations are. To compare all allocations
// takes time that grows with the cluster, so each side is summed up view by view, and views that
// were there before keep their sum; only if the two sums differ is every allocation looked at.

// place is where an allocation is said to be.
type place struct {
	key  objects.AllocationKey
	app  objects.AppID
	node objects.NodeID
}

// sumSeed is that of all sums of the process.
var sumSeed = maphash.MakeSeed()

// placeSum is a sum of hashes of places: equal for the same places in any order, and with a chance
// of 1 in 2^64 for others.
type placeSum struct {
	count int
	sum   uint64
}

func (p *placeSum) add(x place) {
	p.count++
	p.sum += maphash.Comparable(sumSeed, x)
}

func (p *placeSum) join(x placeSum) {
	p.count += x.count
	p.sum += x.sum
}

// applicationPlaces is what an application says of its allocations.
type applicationPlaces struct {
	placeSum
	overdue []*scheduler.WorkView // told to leave long ago
}

// places are the sums of a snapshot of one partition. The zero value is ready for use.
type places struct {
	onNodes, inApplications placeSum

	nodes        map[*scheduler.NodeView]placeSum
	applications map[*scheduler.ApplicationView]applicationPlaces
}

// of are the sums of snap; those of views that p has as well are not computed again.
func (p places) of(snap *scheduler.Snapshot, turn *cpushare.Turn) places {
	next := places{
		nodes:        make(map[*scheduler.NodeView]placeSum, snap.Nodes.Len()),
		applications: make(map[*scheduler.ApplicationView]applicationPlaces, len(p.applications)),
	}
	for n := range snap.Nodes.All() {
		turn.Yield()
		x, known := p.nodes[n]
		if !known {
			for w := range n.Work.All() {
				x.add(place{w.Ask.Key, w.Ask.App, n.ID})
			}
		}
		next.nodes[n] = x
		next.onNodes.join(x)
	}
	eachQueue(snap.Root, turn, func(q *scheduler.QueueView) {
		for a := range q.Applications.All() {
			x, known := p.applications[a]
			if !known {
				for w := range a.Work.All() {
					if w.Node == "" {
						continue
					}
					x.add(place{w.Ask.Key, a.ID, w.Node})
					if w.Overdue {
						x.overdue = append(x.overdue, w)
					}
				}
			}
			next.applications[a] = x
			next.inApplications.join(x.placeSum)
		}
	})
	return next
}

// agree reports whether applications and nodes say the same.
func (p *places) agree() bool { return p.onNodes == p.inApplications }

func orphansOnNodes(x *examined, f *findings) {
	if x.snap == nil || x.places.agree() {
		return
	}
	known := map[place]bool{}
	eachAllocation(x.snap.Root, f.turn, func(a *scheduler.ApplicationView, w *scheduler.WorkView) {
		known[place{w.Ask.Key, a.ID, w.Node}] = true
	})
	for n := range x.snap.Nodes.All() {
		f.turn.Yield()
		for w := range n.Work.All() {
			if !known[place{w.Ask.Key, w.Ask.App, n.ID}] {
				f.add("allocation %s on node %s is not known to application %s", w.Ask.Key, n.ID, w.Ask.App)
			}
		}
	}
}

func orphansOfApplications(x *examined, f *findings) {
	if x.snap == nil || x.places.agree() {
		return
	}
	there := map[objects.AllocationKey]objects.NodeID{}
	for n := range x.snap.Nodes.All() {
		f.turn.Yield()
		for w := range n.Work.All() {
			there[w.Ask.Key] = n.ID
		}
	}
	eachAllocation(x.snap.Root, f.turn, func(a *scheduler.ApplicationView, w *scheduler.WorkView) {
		if there[w.Ask.Key] != w.Node {
			f.add("allocation %s of application %s is not known to node %s", w.Ask.Key, a.ID, w.Node)
		}
	})
}

func overdueVictims(x *examined, f *findings) {
	if x.snap == nil {
		return
	}
	eachQueue(x.snap.Root, f.turn, func(q *scheduler.QueueView) {
		for a := range q.Applications.All() {
			for _, w := range x.places.applications[a].overdue {
				f.add("allocation %s of application %s was told at %s to leave node %s", w.Ask.Key, a.ID,
					w.ToldAt.UTC().Format(time.RFC3339), w.Node)
			}
		}
	})
}

// eachAllocation goes through what applications have on nodes.
func eachAllocation(q *scheduler.QueueView, turn *cpushare.Turn, do func(*scheduler.ApplicationView, *scheduler.WorkView)) {
	eachQueue(q, turn, func(q *scheduler.QueueView) {
		for a := range q.Applications.All() {
			for w := range a.Work.All() {
				if w.Node != "" {
					do(a, w)
				}
			}
		}
	})
}
