package webservice

import (
	"hash/maphash"
	"maps"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Applications and nodes must agree on where allocations are (OBS-55). Comparing all allocations takes
// time that grows with the cluster, so each side has a sum of hashes. Views that are unchanged keep
// their sum, and only if the two sums differ are all allocations compared.

// location is an allocation and its node, as an application or a node has it.
type location struct {
	key  objects.AllocationKey
	app  objects.AppID
	node objects.NodeID
}

// hashSeed is the seed of all hashes of the process.
var hashSeed = maphash.MakeSeed()

// locationHash is a sum of hashes of locations: equal for the same locations in any order, and with a
// probability of 1 in 2^64 for others.
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

// applicationLocations is the sum of the allocations of an application.
type applicationLocations struct {
	locationHash
	overdue []*scheduler.AllocationView // victims that are overdue
	update  uint64                      // the last update that found the application
}

// nodeLocations is the sum of the allocations of a node.
type nodeLocations struct {
	locationHash
	update uint64 // the last update that found the node
}

// locationHashes are the sums of a snapshot of one partition. The zero value is ready for use.
type locationHashes struct {
	onNodes, inApplications locationHash

	updates      uint64 // so far
	nodes        map[*scheduler.NodeView]nodeLocations
	applications map[*scheduler.ApplicationView]applicationLocations
}

// update makes p the sums of snap. The sums of views that p has are not computed again.
func (p *locationHashes) update(snap *scheduler.Snapshot, slot *cpushare.Slot) {
	if p.nodes == nil {
		p.nodes, p.applications = map[*scheduler.NodeView]nodeLocations{},
			map[*scheduler.ApplicationView]applicationLocations{}
	}
	p.updates++
	p.onNodes, p.inApplications = locationHash{}, locationHash{}
	for n := range snap.Nodes.All() {
		slot.Yield()
		x, known := p.nodes[n]
		if !known {
			for w := range n.Allocations.All() {
				x.add(location{w.Ask.Key, w.Ask.App, n.ID})
			}
		}
		x.update = p.updates
		p.nodes[n] = x
		p.onNodes.merge(x.locationHash)
	}
	applications := 0
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
			x.update = p.updates
			p.applications[a] = x
			p.inApplications.merge(x.locationHash)
			applications++
		}
	})
	if len(p.nodes) > snap.Nodes.Len() {
		maps.DeleteFunc(p.nodes, func(_ *scheduler.NodeView, x nodeLocations) bool { return x.update != p.updates })
	}
	if len(p.applications) > applications {
		maps.DeleteFunc(p.applications,
			func(_ *scheduler.ApplicationView, x applicationLocations) bool { return x.update != p.updates })
	}
}

// consistent reports whether applications and nodes agree.
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
	onNodes := map[objects.AllocationKey]objects.NodeID{}
	for n := range x.snap.Nodes.All() {
		f.slot.Yield()
		for w := range n.Allocations.All() {
			onNodes[w.Ask.Key] = n.ID
		}
	}
	eachAllocation(x.snap.Root, f.slot, func(a *scheduler.ApplicationView, w *scheduler.AllocationView) {
		if onNodes[w.Ask.Key] != w.Node {
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

// eachAllocation calls do for every allocation of every application, not for pending asks.
func eachAllocation(q *scheduler.QueueView, slot *cpushare.Slot,
	do func(*scheduler.ApplicationView, *scheduler.AllocationView)) {
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
