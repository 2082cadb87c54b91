package complexity

import (
	"fmt"
	"strconv"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// runBackfills is the counted work: asks that are backfilled on the only reserved node, and end. The other nodes are
// full, and the other asks, one in each application, fit none.
func (s size) runBackfills() {
	conf := configs.Partition{Name: "default", Root: s.queueTree("root", 1)}
	for i := range conf.Root.Children {
		conf.Root.Children[i].RunTime = configs.RunTime{Default: time.Hour, Enforced: true}
	}
	conf.Reservation = configs.Reservation{Enabled: true, Timeout: time.Hour, NodePercent: 1,
		Backfill: configs.BackfillBounded, BackfillAsks: 64, BackfillNodes: 64}
	c, now := scheduler.New(conf, nil), time.Unix(1_000_000_000, 0)
	submit := func(key string, app, vcore int) {
		c.Step(now, scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(key), App: objects.AppID("a" + strconv.Itoa(app)), Amounts: amounts(vcore, 0),
			Policy:  objects.PolicySent | objects.PolicyAllowPreemptSelf,
			Details: &objects.AskDetails{Tags: map[string]string{runtimes.BoundTag: "1m"}},
		}})
	}
	for i := range s.apps {
		c.Step(now, scheduler.AddApplication{App: objects.AppID("a" + strconv.Itoa(i)),
			Queue: fmt.Sprintf("root.q%06d", i%s.leaves)})
	}
	for i := range s.nodes {
		node := objects.NodeID(fmt.Sprintf("n%06d", i))
		c.Step(now, scheduler.AddNode{Node: node, Total: amounts(4000, 0), Schedulable: true})
		for j := range min(4, 3+i) { // like the asks that are backfilled: the first ask of a size visits all nodes
			c.Step(now, scheduler.ReportAllocation{Node: node, Ask: &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("r", i, "-", j)), App: "a0", Amounts: amounts(1000, 0),
			}})
		}
	}
	submit("large", 0, 4000)
	c.Schedule(now, 10)
	for i := range s.apps {
		submit("k"+strconv.Itoa(i), i, 5000)
	}
	now = now.Add(time.Second)
	c.Schedule(now, 10)
	for i := range s.decisions {
		key := "b" + strconv.Itoa(i)
		now = now.Add(time.Millisecond)
		submit(key, s.apps-1, 1000)
		effects, _ := c.Schedule(now, 10)
		if len(appendAsks(nil, effects)) != 1 || c.BackfillCounts().Placed != uint64(i+1) {
			panic(fmt.Sprintf("%s must be backfilled, not %v", key, effects))
		}
		c.Step(now, scheduler.Release{App: objects.AppID("a" + strconv.Itoa(s.apps-1)), Key: objects.AllocationKey(key),
			Type: scheduler.StoppedByRM})
		c.Schedule(now, 10)
	}
}
