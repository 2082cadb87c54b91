package main

import (
	"testing"

	"github.com/google/pprof/profile"
	"gotest.tools/v3/assert"
)

// sample has the functions of a stack, the innermost first.
func sample(value int64, functions ...string) *profile.Sample {
	s := &profile.Sample{Value: []int64{1, value}}
	for _, name := range functions {
		s.Location = append(s.Location, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}})
	}
	return s
}

func TestShares_InnermostPartOwnsASample(t *testing.T) {
	const callback, core, apply = "github.com/apache/yunikorn-k8shim/pkg/cache.(*AsyncRMCallback).UpdateAllocation",
		"github.com/canopy-scheduler/canopy/pkg/rmproxy.deliver",
		"github.com/apache/yunikorn-core/pkg/scheduler.(*Scheduler).run"
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples"}, {Type: "cpu"}},
		Sample: []*profile.Sample{
			sample(10, "runtime.mallocgc", core),
			sample(20, "sort.Slice", apply),
			sample(30, "runtime.mapassign", callback, core),
			sample(25, "encoding/json.Marshal", "k8s.io/client-go/rest.(*Request).Body", callback),
			sample(15, "runtime.gcDrain", "runtime.gcBgMarkWorker"),
		},
	}
	percent, err := shares(p)
	assert.NilError(t, err)
	assert.DeepEqual(t, percent, map[string]float64{"core": 30, "shim": 30, "client": 25, "runtime": 15})

	p.SampleType = p.SampleType[:1]
	_, err = shares(p)
	assert.ErrorContains(t, err, "no profile of the CPU")
}
