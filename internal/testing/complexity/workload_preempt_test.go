package complexity

import (
	"fmt"
	"strconv"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The reasons of preemption of size.preempt.
const (
	preemptByPriority  = 1
	preemptByGuarantee = 2
)

// runVictimSearches is the counted work: asks in a full cluster that each preempt one allocation and
// are placed.
func (s size) runVictimSearches() {
	c, now := s.fullCluster()
	for i := range s.decisions {
		ask := &objects.Ask{
			Key: objects.AllocationKey("p" + strconv.Itoa(i)), App: "preemptor", Amounts: amounts(1000, 1000),
			Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
		}
		if s.preempt == preemptByPriority {
			ask.Priority = 100
		}
		now = now.Add(time.Millisecond)
		c.Step(now, scheduler.SubmitAsk{Ask: ask})
		effects, _ := c.Schedule(now, 1)
		if len(scheduler.WithoutEvents(effects)) != 1 {
			panic(fmt.Sprintf("one allocation must be preempted, not %v", effects))
		}
		victim := effects[0].(scheduler.Released)
		c.Step(now, scheduler.Release{App: victim.App, Key: victim.Key, Type: victim.Type})
		effects, _ = c.Schedule(now, 1)
		if len(appendAsks(nil, effects)) != 1 {
			panic(fmt.Sprintf("the preemptor must be placed, not %v", effects))
		}
	}
}

// fullCluster returns a Core with full nodes; the last leaf is that of the preemptors.
func (s size) fullCluster() (*scheduler.Core, time.Time) {
	root := s.queueTree("root", 1)
	owed := configs.Queue{Name: "owed"}
	if s.preempt == preemptByPriority {
		owed.PriorityPreemption = policies.PriorityPreemptionFence
	} else {
		largeCost := resources.Quantity(s.nodes * 1000)
		owed.Guaranteed = resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": largeCost, "memory": largeCost})
	}
	root.Children = append(root.Children, owed)
	conf := configs.Partition{Name: "default", Root: root, PreemptionEnabled: true}
	c, now := scheduler.New(conf, nil), time.Unix(1_000_000_000, 0)
	for i := range s.leaves {
		c.Step(now, scheduler.AddApplication{App: objects.AppID("a" + strconv.Itoa(i)), Queue: fmt.Sprintf("root.q%06d", i)})
	}
	c.Step(now, scheduler.AddApplication{App: "preemptor", Queue: "root.owed"})
	perNode := s.asks / s.nodes
	for i := range s.nodes {
		node := objects.NodeID(fmt.Sprintf("n%06d", i))
		c.Step(now, scheduler.AddNode{Node: node, Total: amounts(perNode*1000, perNode*1000), Schedulable: true})
		for j := range perNode {
			k := i*perNode + j
			c.Step(now, scheduler.ReportAllocation{Node: node, Ask: &objects.Ask{
				Key: objects.AllocationKey("k" + strconv.Itoa(k)), App: objects.AppID("a" + strconv.Itoa(k%s.leaves)),
				Amounts: amounts(1000, 1000),
			}})
		}
	}
	return c, now
}
