package bench

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// BenchmarkPreempt_Victims is the cells fence-dense-1, -10 and -100 of the suite preempt: an ask preempts that many
// of the 100 allocations of a node, and is placed when they have ended. The medians are the figures of the suite.
// With guarantees each leaf has one, which protects its last allocation.
func BenchmarkPreempt_Victims(b *testing.B) {
	for _, guarantees := range []bool{false, true} {
		for _, victims := range []int{1, 10, 100} {
			b.Run(fmt.Sprint("guarantees=", guarantees, "/victims=", victims),
				func(b *testing.B) { benchmarkVictims(b, victims, guarantees) })
		}
	}
}

func benchmarkVictims(b *testing.B, victims int, guarantees bool) {
	spec := preemptWorkload(Full, 1000, 100)
	spec.Victims, spec.Preemptors = victims, min(spec.Preemptors, spec.Asks/2/victims)
	s, err := newStream(spec, 1)
	assert.NilError(b, err)
	for _, parent := range s.partition.Root.Children {
		for i := range parent.Children {
			if guarantees {
				parent.Children[i].Guaranteed = resources.GuaranteeFromMap(map[string]resources.Quantity{resources.VCore: 1})
			}
		}
	}
	var p *preemptionRun
	found, placed := measure.NewHistogram(), measure.NewHistogram()
	b.ReportAllocs()
	for b.Loop() {
		if p == nil || p.next == spec.Preemptors {
			b.StopTimer()
			p, err = loadPreempting(s, newCore(s))
			assert.NilError(b, err)
			assert.NilError(b, p.runTo(spec.Preemptors/10, measure.NewHistogram(), measure.NewHistogram()))
			b.StartTimer()
		}
		assert.NilError(b, p.runBatch(1, found, placed))
	}
	b.ReportMetric(float64(found.Percentile(50))/1000, "µs/victims-p50")
	b.ReportMetric(float64(placed.Percentile(50))/1000, "µs/placed-p50")
}
