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

// location is where an allocation is said to be.
type location struct {
	key  objects.AllocationKey
	app  objects.AppID
	node objects.NodeID
}

// hashSeed is that of all sums of the process.
var hashSeed = maphash.MakeSeed()

// locationHash is a sum of hashes of places: equal for the same places in any order, and with a chance
// of 1 in 2^64 for others.
type locationHash struct {
	count int
	sum   uint64
}

func (p *locationHash) add(x location) {
	p.count++
	p.sum += maphash.Comparable(hashSeed, x)
}

func (p *locationHash) merge(x locationHash) {
	p.count += x.count
	p.sum += x.sum
}

// applicationLocations is what an application says of its allocations.
type applicationLocations struct {
	locationHash
	overdue []*scheduler.AllocationView // told to leave long ago
}

// locationHashes are the sums of a snapshot of one partition. The zero value is ready for use.
type locationHashes struct {
	onNodes, inApplications locationHash

	nodes        map[*scheduler.NodeView]locationHash
	applications map[*scheduler.ApplicationView]applicationLocations
}

// update are the sums of snap; those of views that p has as well are not computed again.
func (p locationHashes) update(snap *scheduler.Snapshot, slot *cpushare.Slot) locationHashes {
	next := locationHashes{
		nodes:        make(map[*scheduler.NodeView]locationHash, snap.Nodes.Len()),
		applications: make(map[*scheduler.ApplicationView]applicationLocations, len(p.applications)),
	}
	for n := range snap.Nodes.All() {
		slot.Yield()
		x, known := p.nodes[n]
		if !known {
			for w := range n.Allocations.All() {
				x.add(location{w.Ask.Key, w.Ask.App, n.ID})
			}
		}
		next.nodes[n] = x
		next.onNodes.merge(x)
	}
	eachQueue(snap.Root, slot, func(q *scheduler.QueueView) {
		for a := range q.Applications.All() {
			x, known := p.applications[a]
			if !known {
				for w := range a.Allocations.All() {
					if w.Node == "" {
						continue
					}
					x.add(location{w.Ask.Key, a.ID, w.Node})
					if w.Overdue {
						x.overdue = append(x.overdue, w)
					}
				}
			}
			next.applications[a] = x
			next.inApplications.merge(x.locationHash)
		}
	})
	return next
}

// consistent reports whether applications and nodes say the same.
func (p *locationHashes) consistent() bool { return p.onNodes == p.inApplications }

func orphansOnNodes(x *partitionHealth, f *findings) {
	if x.snap == nil || x.locationHashes.consistent() {
		return
	}
	known := map[location]bool{}
	eachAllocation(x.snap.Root, f.slot, func(a *scheduler.ApplicationView, w *scheduler.AllocationView) {
		known[location{w.Ask.Key, a.ID, w.Node}] = true
	})
	for n := range x.snap.Nodes.All() {
		f.slot.Yield()
		for w := range n.Allocations.All() {
			if !known[location{w.Ask.Key, w.Ask.App, n.ID}] {
				f.add("allocation %s on node %s is not known to application %s", w.Ask.Key, n.ID, w.Ask.App)
			}
		}
	}
}

func orphansOfApplications(x *partitionHealth, f *findings) {
	if x.snap == nil || x.locationHashes.consistent() {
		return
	}
	there := map[objects.AllocationKey]objects.NodeID{}
	for n := range x.snap.Nodes.All() {
		f.slot.Yield()
		for w := range n.Allocations.All() {
			there[w.Ask.Key] = n.ID
		}
	}
	eachAllocation(x.snap.Root, f.slot, func(a *scheduler.ApplicationView, w *scheduler.AllocationView) {
		if there[w.Ask.Key] != w.Node {
			f.add("allocation %s of application %s is not known to node %s", w.Ask.Key, a.ID, w.Node)
		}
	})
}

func overdueVictims(x *partitionHealth, f *findings) {
	if x.snap == nil {
		return
	}
	eachQueue(x.snap.Root, f.slot, func(q *scheduler.QueueView) {
		for a := range q.Applications.All() {
			for _, w := range x.locationHashes.applications[a].overdue {
				f.add("allocation %s of application %s was preempted at %s and is still on node %s", w.Ask.Key, a.ID,
					w.PreemptedAt.UTC().Format(time.RFC3339), w.Node)
			}
		}
	})
}

// eachAllocation goes through what applications have on nodes.
func eachAllocation(q *scheduler.QueueView, slot *cpushare.Slot, do func(*scheduler.ApplicationView, *scheduler.AllocationView)) {
	eachQueue(q, slot, func(q *scheduler.QueueView) {
		for a := range q.Applications.All() {
			for w := range a.Allocations.All() {
				if w.Node != "" {
					do(a, w)
				}
			}
		}
	})
}
