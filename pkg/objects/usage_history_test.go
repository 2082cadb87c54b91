package objects

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func TestUsageHistory_EndedAllocationsByInstanceType(t *testing.T) {
	p, a, now := leafPartition(t, lifecycle.DefaultLifetimes())
	for id, kind := range map[NodeID]string{"large": "m5.large", "plain": ""} {
		assert.NilError(t, p.AddNode(id, vcores(100), map[string]string{"si/instance-type": kind}, true))
	}
	run := func(key AllocationKey, on NodeID, n int64, placeholder bool) *Allocation {
		x, err := p.AddReported(&Ask{Key: key, App: "app", Amounts: vcores(n), Placeholder: placeholder,
			Details: &AskDetails{TaskGroup: "tg"}}, on, now)
		assert.NilError(t, err)
		return x
	}
	run("short", "large", 1, false)
	run("long", "large", 2, false)
	run("other", "plain", 3, false)
	run("placeholder", "plain", 4, true)
	victim := run("victim", "large", 5, false)

	_, ok := p.Release("short", now.Add(time.Second-1))
	assert.Assert(t, ok)
	assert.Assert(t, a.UsageHistory() == nil, "only whole seconds count")

	free := func(key AllocationKey, after time.Duration) {
		_, ok := p.Release(key, now.Add(after))
		assert.Assert(t, ok)
		assert.NilError(t, p.Check())
	}
	free("long", 10*time.Second)
	first := a.UsageHistory()
	free("other", 20*time.Second)
	free("placeholder", 30*time.Second)
	p.MarkPreempting([]*Allocation{victim}, now)
	free("victim", 40*time.Second)
	run("again", "large", 7, false)
	free("again", time.Minute)

	want := func(got []lifecycle.TypeUsage, wanted ...lifecycle.TypeUsage) {
		t.Helper()
		assert.Equal(t, len(got), len(wanted))
		for i := range wanted {
			assert.Equal(t, got[i].InstanceType, wanted[i].InstanceType)
			assert.Assert(t, got[i].Usage.Equal(wanted[i].Usage), "%v", got[i])
		}
	}
	seconds := func(n int64) resources.Amounts { return vcores(1).Times(n) }
	used := func(instanceType string, n int64) lifecycle.TypeUsage {
		return lifecycle.TypeUsage{InstanceType: instanceType, Usage: seconds(n)}
	}
	total := a.UsageHistory()
	want(total.Real, used("UNKNOWN", 3*20), used("m5.large", 2*10+7*60))
	want(total.Preempted, used("m5.large", 5*40))
	want(total.Placeholders, used("UNKNOWN", 4*30))
	want(first.Real, used("m5.large", 20)) // it is immutable
}
