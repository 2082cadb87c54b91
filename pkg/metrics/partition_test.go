package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// one is a collector of what is told once.
type one func(teller)

func (one) Describe(chan<- *prometheus.Desc)      {}
func (o one) Collect(to chan<- prometheus.Metric) { o(teller{to, "p"}) }

// What takes long to come about in a cluster: leaves that are paused, a queue above its max.
func TestWhatIsRare(t *testing.T) {
	s := &scheduler.Snapshot{
		Pauses: []preemption.Pause{{A: "root.a", B: "root.b"}, {A: "root.c", B: "root.c"}},
		Root:   scheduler.QueueView{Path: "root", Children: []scheduler.QueueView{{Path: "root.a", Leaf: true, AboveMax: &objects.AboveMax{}}}},
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(one(func(to teller) {
		tellPartition(to, s)
		sum := viewer{teller: to}.queue(&s.Root)
		tellSum(to, &sum, s.At)
	}))
	got, err := reg.Gather()
	assert.NilError(t, err)
	values := map[string]float64{}
	for _, f := range got {
		values[f.GetName()] += f.GetMetric()[0].GetGauge().GetValue()
	}
	for _, f := range got {
		if f.GetName() == pauses.name {
			assert.Equal(t, len(f.GetMetric()), 2)
		}
	}
	assert.Equal(t, values[pauses.name], 1.0)
	assert.Equal(t, values[queuesAboveMax.name], 1.0)
}
