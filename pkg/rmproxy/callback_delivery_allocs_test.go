package rmproxy

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// ignoringShim is a shim that ignores placements.
type ignoringShim struct{ fakerm.Recorder }

func (*ignoringShim) UpdateAllocation(*si.AllocationResponse) error { return nil }

// newPlacementDelivery returns a function that delivers a placement of so many resources to a
// linked shim.
func newPlacementDelivery(t testing.TB, names int) func() {
	d := newTestInProcess(testOptions{})
	t.Cleanup(d.Stop)
	_, err := d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, &ignoringShim{})
	assert.NilError(t, err)
	// Effects before the PartitionReset of a registration are dropped. When the second snapshot
	// has been returned, the effects before the first have been delivered.
	l, ok := d.p.cluster.Partition("default")
	assert.Assert(t, ok)
	for range 2 {
		_, err := l.Snapshot(context.Background())
		assert.NilError(t, err)
	}
	amounts := map[string]resources.Quantity{}
	for i := range names {
		amounts[fmt.Sprint("resource", i)] = 1
	}
	effects := []scheduler.Effect{scheduler.Allocated{Binding: &scheduler.Binding{
		Ask: &objects.Ask{Key: "key", App: "app", Amounts: resources.FromMap(amounts)}, Node: "node",
	}}}
	return func() { d.p.effectSinks["default"].Deliver(effects) }
}

func TestInProcess_CallbackAllocatesFewObjects(t *testing.T) {
	// The message, and the map of its resources, which is two objects. More than two resources
	// are one more.
	for names, want := range map[int]float64{0: 2, 2: 3, 3: 4} {
		assert.Equal(t, testing.AllocsPerRun(100, newPlacementDelivery(t, names)), want, "%d resources", names)
	}
}

// From an effect to the callback of a linked shim and back.
func BenchmarkInProcessDelivery(b *testing.B) {
	for _, names := range []int{0, 2} {
		b.Run(fmt.Sprintf("resources=%d", names), func(b *testing.B) {
			deliver := newPlacementDelivery(b, names)
			b.ReportAllocs()
			for b.Loop() {
				deliver()
			}
		})
	}
}
