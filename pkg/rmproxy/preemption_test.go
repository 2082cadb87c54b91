package rmproxy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const preemptionConfig = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
            properties: {preemption.priority: leaf}
`

// highPriorityAsk is an ask for a whole node.
func highPriorityAsk(key string) *si.Allocation {
	return &si.Allocation{
		AllocationKey: key, ApplicationID: "app", Priority: 100, ResourcePerAlloc: fakerm.Resource(100, 100),
		PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptOther: true},
	}
}

// A full cluster of allocations with low priority, and one ask with high priority.
func TestPreemption_LowerPriorityIsReleased(t *testing.T) {
	r := newRig(t, testOptions{})
	assert.NilError(t, r.register("rm", preemptionConfig))
	r.withNodeAndApp()
	x := r.openAllocationStream()
	for i := range 10 {
		assert.NilError(t,
			x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask(fmt.Sprint("low-", i), "app")}}))
	}
	receive(t, x, 10, (*si.AllocationResponse).GetNew)

	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{highPriorityAsk("high")}}))
	victims := receive(t, x, 10, (*si.AllocationResponse).GetReleased)
	for _, victim := range victims {
		assert.Equal(t, victim.TerminationType, si.TerminationType_PREEMPTED_BY_SCHEDULER)
		assert.Equal(t, victim.Message, "preempted (priority) for ask high of application app")
	}
	for _, victim := range victims { // nothing is placed before the last victim has ended
		assert.NilError(t, x.Send(&si.AllocationRequest{Releases: &si.AllocationReleasesRequest{
			AllocationsToRelease: []*si.AllocationRelease{{
				ApplicationID: "app", AllocationKey: victim.AllocationKey,
				TerminationType: si.TerminationType_PREEMPTED_BY_SCHEDULER,
			}},
		}}))
	}
	placed := receive(t, x, 1, (*si.AllocationResponse).GetNew)[0]
	assert.Equal(t, placed.AllocationKey, "high")
	assert.Equal(t, placed.NodeID, "n1")
}

// PreemptionPredicates is called with the victims on the node.
func TestPreemption_PreemptionPredicatesAreCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakerm.Recorder{}
		d := newTestInProcess(testOptions{})
		defer d.Stop()
		_, err := d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: preemptionConfig}, s)
		assert.NilError(t, err)
		assert.NilError(t, d.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node("n1")}}))
		assert.NilError(t,
			d.UpdateApplication(&si.ApplicationRequest{RmID: "rm",
				New: []*si.AddApplicationRequest{fakerm.App("app", "root.a")}}))
		low := fakerm.Ask("low", "app")
		assert.NilError(t, d.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{low}}))
		synctest.Wait()
		assert.NilError(t,
			d.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{highPriorityAsk("high")}}))
		synctest.Wait()
		assert.DeepEqual(t, s.PreemptionQueries(), []string{"high on n1 without [low] from 0"})

		assert.Equal(t, oracle{d.p, "default"}.fitsWithout("k", "n1", []objects.AllocationKey{"a"}), false,
			"the shim refused")
		assert.Equal(t, oracle{d.p, "default"}.fitsWithout("k", "n1", nil), true, "without victims Predicates is called")
	})
}

// RES-4: before a node is reserved, Predicates is called without regard to what is free.
func TestOracle_ReservationPredicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakerm.Recorder{Predicate: func(_, node string) error {
			if node == "n2" {
				return errors.New("no")
			}
			return nil
		}}
		d := newTestInProcess(testOptions{})
		defer d.Stop()
		assert.Equal(t, oracle{d.p, "default"}.fitsWhenFree("k", "n1"), false, "there is no shim")
		_, err := d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: preemptionConfig}, s)
		assert.NilError(t, err)
		assert.Equal(t, oracle{d.p, "default"}.fitsWhenFree("k", "n1"), true)
		assert.Equal(t, oracle{d.p, "default"}.fitsWhenFree("k", "n2"), false)
		synctest.Wait()
		assert.Assert(t, slices.Contains(s.Calls(), "fits k@n2 allocate=false"), "%q", s.Calls())
	})
}

// OnEffects gets all effects of a partition, the resource manager only those that are not
// internal.
func TestOnEffects_IncludesInternalEffects(t *testing.T) {
	var mu sync.Mutex
	var received []string
	r := newRig(t, testOptions{OnEffects: func(partition string, effects []scheduler.Effect) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range effects {
			received = append(received, partition+": "+e.String())
		}
	}})
	assert.NilError(t, r.register("rm", preemptionConfig))
	r.withNodeAndApp()
	x := r.openAllocationStream()
	for i := range 10 {
		assert.NilError(t,
			x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask(fmt.Sprint("low-", i), "app")}}))
	}
	receive(t, x, 10, (*si.AllocationResponse).GetNew)
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{highPriorityAsk("high")}}))
	victims := receive(t, x, 10, (*si.AllocationResponse).GetReleased)
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{
		"default: accepted node n1", "default: allocated low-0 (app) on n1",
		fmt.Sprintf("default: event: %s (app in root.a) preempted on n1, by priority, by high (app in root.a)",
			victims[0].AllocationKey),
		"default: event: high (app in root.a) nominated on n1, by priority, victims: 10",
	} {
		assert.Assert(t, slices.Contains(received, want), "%q is not in %q", want, received)
	}
}
