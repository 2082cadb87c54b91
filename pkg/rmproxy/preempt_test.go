package rmproxy

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const swapping = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
            properties: {preemption.priority: leaf}
`

// important is an ask for as much as a node has.
func important(key string) *si.Allocation {
	return &si.Allocation{
		AllocationKey: key, ApplicationID: "app", Priority: 100, ResourcePerAlloc: someOf(100, 100),
		PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptOther: true},
	}
}

// A full cluster of work that is less important, and one ask that is more.
func TestTheLessImportantGivesWay(t *testing.T) {
	r := newRig(t, Options{})
	assert.NilError(t, r.register("rm", swapping))
	r.withNodeAndApp()
	x := r.allocations()
	for i := range 10 {
		assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{newAsk(fmt.Sprint("low-", i), "app")}}))
	}
	hear(t, x, 10, (*si.AllocationResponse).GetNew)

	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{important("high")}}))
	told := hear(t, x, 10, (*si.AllocationResponse).GetReleased)
	for _, victim := range told {
		assert.Equal(t, victim.TerminationType, si.TerminationType_PREEMPTED_BY_SCHEDULER)
		assert.Equal(t, victim.Message, "preempted by right of priority for ask high of application app")
	}
	for _, victim := range told { // nothing is placed before the last of them has gone
		assert.NilError(t, x.Send(&si.AllocationRequest{Releases: &si.AllocationReleasesRequest{
			AllocationsToRelease: []*si.AllocationRelease{{
				ApplicationID: "app", AllocationKey: victim.AllocationKey, TerminationType: si.TerminationType_PREEMPTED_BY_SCHEDULER,
			}},
		}}))
	}
	placed := hear(t, x, 1, (*si.AllocationResponse).GetNew)[0]
	assert.Equal(t, placed.AllocationKey, "high")
	assert.Equal(t, placed.NodeID, "n1")
}

// A linked shim is asked whether the ask could run where victims have left.
func TestALinkedShimJudgesPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shim{}
		d := NewInProcess(Options{})
		defer d.Stop()
		_, err := d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: swapping}, s)
		assert.NilError(t, err)
		assert.NilError(t, d.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{nodeCreated("n1")}}))
		assert.NilError(t, d.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{newApp("app", "root.a")}}))
		low := newAsk("low", "app")
		assert.NilError(t, d.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{low}}))
		synctest.Wait()
		assert.NilError(t, d.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{important("high")}}))
		synctest.Wait()
		assert.DeepEqual(t, s.judged(), []string{"high on n1 without [low] from 0"})

		assert.Equal(t, oracle{d.p}.FitsWithout("k", "n1", []objects.AllocationKey{"a"}), false, "the shim said no")
		assert.Equal(t, oracle{d.p}.FitsWithout("k", "n1", nil), true, "without victims it is asked as always")
	})
}

// Whoever listens hears everything that a partition says, and the resource manager only what
// is meant for it.
func TestWhoListensHearsMoreThanTheRM(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	r := newRig(t, Options{Heard: func(partition string, effects []scheduler.Effect) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range effects {
			heard = append(heard, partition+": "+e.String())
		}
	}})
	assert.NilError(t, r.register("rm", swapping))
	r.withNodeAndApp()
	x := r.allocations()
	for i := range 10 {
		assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{newAsk(fmt.Sprint("low-", i), "app")}}))
	}
	hear(t, x, 10, (*si.AllocationResponse).GetNew)
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{important("high")}}))
	told := hear(t, x, 10, (*si.AllocationResponse).GetReleased)
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{
		"default: accepted node n1", "default: allocated low-0 (app) on n1",
		fmt.Sprintf("default: noted: %s (app in root.a) preempted on n1, by priority, by high (app in root.a)", told[0].AllocationKey),
		"default: noted: high (app in root.a) nominated on n1, by priority, 10 leave",
	} {
		assert.Assert(t, slices.Contains(heard, want), "%q is not in %q", want, heard)
	}
}
