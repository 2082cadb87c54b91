package webservice

import (
	"hash/maphash"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Applications and nodes must agree on where allocations are (OBS-55). Comparing all allocations takes much memory, so
// each side has a sum of hashes, and only if the two sums differ are all allocations compared.

// location is an allocation and its node, as an application or a node has it.
type location struct {
	key  objects.AllocationKey
	app  objects.AppID
	node objects.NodeID
}

// hashSeed is the seed of all hashes of the process.
var hashSeed = maphash.MakeSeed()

// locationSum is a sum of hashes of locations: equal for the same locations in any order, and with a probability of 1
// in 2^64 for others.
type locationSum struct {
	count int
	sum   uint64
}

func (p *locationSum) add(x location) {
	p.count++
	p.sum += maphash.Comparable(hashSeed, x)
}

// agree reports whether applications and nodes have the same locations.
func agree(snap *scheduler.Snapshot, slot *cpushare.Slot) bool {
	var onNodes, inApplications locationSum
	for n := range snap.Nodes.All() {
		slot.Yield()
		for w := range n.Allocations.All() {
			onNodes.add(location{w.Ask.Key, w.Ask.App, n.ID})
		}
	}
	eachAllocation(snap.Root, slot, func(a *scheduler.ApplicationView, w *scheduler.AllocationView) {
		inApplications.add(location{w.Ask.Key, a.ID, w.Node})
	})
	return onNodes == inApplications
}

func orphansOnNodes(x *partitionHealth, f *findings) {
	if x.agree {
		return
	}
	snap := x.snap
	known := map[location]bool{}
	eachAllocation(snap.Root, f.slot, func(a *scheduler.ApplicationView, w *scheduler.AllocationView) {
		known[location{w.Ask.Key, a.ID, w.Node}] = true
	})
	for n := range snap.Nodes.All() {
		f.slot.Yield()
		for w := range n.Allocations.All() {
			if !known[location{w.Ask.Key, w.Ask.App, n.ID}] {
				f.add("allocation %s on node %s is not known to application %s", w.Ask.Key, n.ID, w.Ask.App)
			}
		}
	}
}

func orphansOfApplications(x *partitionHealth, f *findings) {
	if x.agree {
		return
	}
	snap := x.snap
	onNodes := map[objects.AllocationKey]objects.NodeID{}
	for n := range snap.Nodes.All() {
		f.slot.Yield()
		for w := range n.Allocations.All() {
			onNodes[w.Ask.Key] = n.ID
		}
	}
	eachAllocation(snap.Root, f.slot, func(a *scheduler.ApplicationView, w *scheduler.AllocationView) {
		if onNodes[w.Ask.Key] != w.Node {
			f.add("allocation %s of application %s is not known to node %s", w.Ask.Key, a.ID, w.Node)
		}
	})
}

func overdueVictims(snap *scheduler.Snapshot, f *findings) {
	eachAllocation(snap.Root, f.slot, func(a *scheduler.ApplicationView, w *scheduler.AllocationView) {
		if w.Overdue {
			f.add("allocation %s of application %s was preempted at %s and is still on node %s", w.Ask.Key, a.ID,
				w.PreemptedAt.UTC().Format(time.RFC3339), w.Node)
		}
	})
}

// eachAllocation calls do for every allocation of every application, not for pending asks.
func eachAllocation(q *scheduler.QueueView, slot *cpushare.Slot,
	do func(*scheduler.ApplicationView, *scheduler.AllocationView)) {
	eachQueue(q, slot, func(q *scheduler.QueueView) {
		for a := range q.Applications.All() {
			slot.Yield()
			for w := range a.Allocations.All() {
				if w.Node != "" {
					do(a, w)
				}
			}
		}
	})
}
