package webservice

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// locationsByKey are the locations of allocations that nodes, or applications, have.
type locationsByKey map[objects.AllocationKey]location

// snapshotOf returns a snapshot with the given locations. Views of before are reused where they are equal.
func snapshotOf(onNodes, inApplications locationsByKey, before *scheduler.Snapshot) *scheduler.Snapshot {
	byNode, byApp := map[objects.NodeID][]*scheduler.AllocationView{}, map[objects.AppID][]*scheduler.AllocationView{}
	for i := range 30 {
		key := objects.AllocationKey(fmt.Sprint("k", i))
		if p, on := onNodes[key]; on {
			byNode[p.node] = append(byNode[p.node],
				&scheduler.AllocationView{Ask: &objects.Ask{Key: key, App: p.app}, Node: p.node})
		}
		if p, in := inApplications[key]; in {
			byApp[p.app] = append(byApp[p.app], &scheduler.AllocationView{Ask: &objects.Ask{Key: key, App: p.app}, Node: p.node})
		}
	}
	same := func(list persistent.List[scheduler.AllocationView], views []*scheduler.AllocationView) bool {
		if list.Len() != len(views) {
			return false
		}
		for i, w := range views {
			if x := list.At(i); x.Ask.Key != w.Ask.Key || x.Ask.App != w.Ask.App || x.Node != w.Node {
				return false
			}
		}
		return true
	}
	var nodes []*scheduler.NodeView
	var apps []*scheduler.ApplicationView
	for i := range 5 {
		node := &scheduler.NodeView{ID: objects.NodeID(fmt.Sprint("n", i))}
		app := &scheduler.ApplicationView{ID: objects.AppID(fmt.Sprint("a", i))}
		node.Allocations, app.Allocations = persistent.ListOf(byNode[node.ID]...), persistent.ListOf(byApp[app.ID]...)
		if before != nil {
			if old := before.Nodes.At(i); same(old.Allocations, byNode[node.ID]) {
				node = old
			}
			if old := before.Root.Applications.At(i); same(old.Allocations, byApp[app.ID]) {
				app = old
			}
		}
		nodes, apps = append(nodes, node), append(apps, app)
	}
	return &scheduler.Snapshot{
		Nodes: persistent.ListOf(nodes...),
		Root:  &scheduler.QueueView{Path: "root", Applications: persistent.ListOf(apps...)},
	}
}

// The sums are equal exactly if nodes and applications have the same locations, after any history.
func TestOrphanCheck_HashesAgreeExactlyWhenLocationsDo(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	onNodes, inApplications := locationsByKey{}, locationsByKey{}
	var snap *scheduler.Snapshot
	var sums locationHashes
	agreed := 0
	for step := range 2000 {
		key := objects.AllocationKey(fmt.Sprint("k", rng.IntN(30)))
		p := location{key, objects.AppID(fmt.Sprint("a", rng.IntN(5))), objects.NodeID(fmt.Sprint("n", rng.IntN(5)))}
		for i, side := range []locationsByKey{onNodes, inApplications} {
			switch {
			case rng.IntN(20) == i: // this side is not updated
			case step%3 == 0:
				delete(side, key)
			default:
				side[key] = p
			}
		}
		if rng.IntN(3) == 0 { // both sides are made equal
			for key := range onNodes {
				delete(onNodes, key)
			}
			for key, p := range inApplications {
				onNodes[key] = p
			}
		}
		snap = snapshotOf(onNodes, inApplications, snap)
		sums.update(snap, nil)
		fresh := hashesOf(snap)
		assert.Equal(t, len(sums.nodes)+len(sums.applications), len(fresh.nodes)+len(fresh.applications),
			"what is gone is dropped")
		assert.Equal(t, sums.onNodes, fresh.onNodes, "step %d", step)
		assert.Equal(t, sums.inApplications, fresh.inApplications, "step %d", step)
		same := fmt.Sprint(onNodes) == fmt.Sprint(inApplications)
		assert.Equal(t, sums.consistent(), same, "step %d, seed %d", step, seed)
		if same {
			agreed++
		}
	}
	assert.Assert(t, 200 < agreed && agreed < 1900, "equal in %d of 2000 steps", agreed)
}

// An unchanged view is not hashed again: changing its content, which must not happen, is not noticed.
func TestOrphanCheck_UnchangedViewsAreNotHashedAgain(t *testing.T) {
	all := locationsByKey{"k1": {"k1", "a1", "n1"}, "k2": {"k2", "a2", "n2"}}
	snap := snapshotOf(all, all, nil)
	sums := hashesOf(snap)
	before := *sums
	snap.Nodes.At(1).Allocations = persistent.List[scheduler.AllocationView]{}
	snap.Root.Applications.At(2).Allocations = persistent.List[scheduler.AllocationView]{}
	sums.update(snap, nil)
	assert.Equal(t, before.onNodes, sums.onNodes)
	assert.Equal(t, before.inApplications, sums.inApplications)
	fresh := hashesOf(snap)
	assert.Assert(t, !fresh.consistent())
}

// hashesOf hashes everything in a snapshot.
func hashesOf(snap *scheduler.Snapshot) *locationHashes {
	p := &locationHashes{}
	p.update(snap, nil)
	return p
}
