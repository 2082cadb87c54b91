package scheduler

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// A decision for a node that other allocations refuse to the ask is a bug, and binds nothing (CON-13).
func TestPlace_PanicsWhereOtherAllocationsRefuse(t *testing.T) {
	c, now := loadedCore(t, treeConfig(1, 1), 1, 0)
	n, _ := c.part.Node("n00000")
	apart := objects.NewAskDetails(objects.AskDetails{Tags: map[string]string{
		"kubernetes.io/label/app": "db",
		affinity.PodAntiAffinityTag: `{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":` +
			`"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"db"}}}]}`,
	}})
	c.Step(now, SetAttributes{Node: n.ID(), Attributes: map[string]string{"kubernetes.io/hostname": "n"}})
	for _, key := range []objects.AllocationKey{"first", "second"} {
		c.Step(now, SubmitAsk{Ask: &objects.Ask{Key: key, App: "a0", Amounts: amounts(100, 1<<30), Details: apart}})
	}
	c.Schedule(now, 10)
	first, _ := c.part.Allocation("first")
	second, _ := c.part.Allocation("second")
	assert.Assert(t, first.Node() == n && second.Pending())
	defer func() {
		assert.ErrorContains(t, fmt.Errorf("%v", recover()), "place second on n00000: it is refused by other allocations")
		assert.Assert(t, second.Pending())
	}()
	c.place(second, n, now)
}
