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

// snapshotOf returns a snapshot with the given locations.
func snapshotOf(onNodes, inApplications locationsByKey) *scheduler.Snapshot {
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
	var nodes []*scheduler.NodeView
	var apps []*scheduler.ApplicationView
	for i := range 5 {
		node := &scheduler.NodeView{ID: objects.NodeID(fmt.Sprint("n", i))}
		app := &scheduler.ApplicationView{ID: objects.AppID(fmt.Sprint("a", i))}
		node.Allocations, app.Allocations = persistent.ListOf(byNode[node.ID]...), persistent.ListOf(byApp[app.ID]...)
		nodes, apps = append(nodes, node), append(apps, app)
	}
	return &scheduler.Snapshot{
		Nodes: persistent.ListOf(nodes...),
		Root:  &scheduler.QueueView{Path: "root", Applications: persistent.ListOf(apps...)},
	}
}

// The sums are equal exactly if nodes and applications have the same locations.
func TestOrphanCheck_SumsAgreeExactlyWhenLocationsDo(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	onNodes, inApplications := locationsByKey{}, locationsByKey{}
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
		same := fmt.Sprint(onNodes) == fmt.Sprint(inApplications)
		assert.Equal(t, agree(snapshotOf(onNodes, inApplications), nil), same, "step %d, seed %d", step, seed)
		if same {
			agreed++
		}
	}
	assert.Assert(t, 200 < agreed && agreed < 1900, "equal in %d of 2000 steps", agreed)
}
