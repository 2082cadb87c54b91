package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// gangCluster is a random cluster, with gangs that each fit it alone, and other applications.
type gangCluster struct {
	t     *testing.T
	conf  configs.Partition
	nodes map[objects.NodeID]resources.Amounts
	gangs []*testGang
	plain []*objects.Ask
}

// testGang is a gang and its members.
type testGang struct {
	app     scheduler.AddApplication
	members []*objects.Ask
}

func newGangCluster(t *testing.T, rng *rand.Rand, reservations bool) *gangCluster {
	conf := (&scenarioCore{queues: []scenarioQueue{{Path: "root.a"}, {Path: "root.b"}}}).config(t)
	conf.PreemptionEnabled = false
	conf.Reservation = configs.Reservation{Enabled: reservations, Delay: time.Second, Timeout: time.Hour, NodePercent: 10}
	c := &gangCluster{t: t, conf: conf, nodes: map[objects.NodeID]resources.Amounts{}}
	for i := range 2 + rng.IntN(6) {
		c.nodes[objects.NodeID(fmt.Sprintf("n%d", i))] = vcores(resources.Quantity(2 + rng.IntN(8)))
	}
	for i := range 2 + rng.IntN(5) {
		for {
			if g := randomGang(rng, i); c.fitsAlone(g) {
				c.gangs = append(c.gangs, g)
				break
			}
		}
	}
	for i := range rng.IntN(12) {
		c.plain = append(c.plain,
			&objects.Ask{Key: objects.AllocationKey(fmt.Sprintf("plain-%d", i)), App: "plain",
				Amounts: vcores(resources.Quantity(1 + rng.IntN(2)))})
	}
	return c
}

func randomGang(rng *rand.Rand, i int) *testGang {
	id := objects.AppID(fmt.Sprintf("gang-%d", i))
	g := &testGang{app: scheduler.AddApplication{
		App: id, Queue: []string{"root.a", "root.b"}[rng.IntN(2)], User: security.User{Name: "ann"},
		Gang: gangs.Spec{Timeout: 1000 * time.Hour},
	}}
	for _, group := range []string{"g", "h"}[:1+rng.IntN(2)] {
		need, size := 1+rng.IntN(4), 1+rng.IntN(6)
		g.app.Gang.Virtual = append(g.app.Gang.Virtual, gangs.VirtualGroup{Name: group, MinMember: need})
		for range need {
			g.members = append(g.members, &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprintf("%s-%d", id, len(g.members))), App: id,
				Amounts: vcores(resources.Quantity(size)), Details: &objects.AskDetails{TaskGroup: group},
			})
		}
	}
	return g
}

// start is a Core with the nodes of the cluster.
func (c *gangCluster) start() *scheduler.Core {
	core := scheduler.New(c.conf, nil)
	for _, id := range []objects.NodeID{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"} {
		if total, ok := c.nodes[id]; ok {
			core.Step(epoch, scheduler.AddNode{Node: id, Total: total, Schedulable: true})
		}
	}
	return core
}

// fitsAlone reports whether a gang is placed in the empty cluster.
func (c *gangCluster) fitsAlone(g *testGang) bool {
	core := c.start()
	core.Step(epoch, g.app)
	for _, ask := range g.members {
		core.Step(epoch, scheduler.SubmitAsk{Ask: ask})
	}
	effects, _ := core.Schedule(epoch, 100)
	return slices.ContainsFunc(effects, isAllocated)
}

func isAllocated(e scheduler.Effect) bool {
	_, ok := e.(scheduler.Allocated)
	return ok
}

// GAN-20, GAN-25: gangs that each fit alone are all placed when others end, whatever the order in which their members
// come. None is placed in part. At most one holds resources before that, so no two wait for each other.
func TestGangs_NoTwoWaitForEachOther(t *testing.T) {
	for seed := range uint64(testscale.Runs(600)) {
		rng := rand.New(rand.NewPCG(seed, 68))
		c := newGangCluster(t, rng, seed%2 == 0)
		core, now := c.start(), epoch
		core.Step(now, scheduler.AddApplication{App: "plain", Queue: "root.a", User: security.User{Name: "ann"}})
		var asks []*objects.Ask
		for _, g := range c.gangs {
			core.Step(now, g.app)
			asks = append(asks, g.members...)
		}
		asks = append(asks, c.plain...)
		rng.Shuffle(len(asks), func(i, j int) { asks[i], asks[j] = asks[j], asks[i] })
		runs := map[objects.AppID][]objects.AllocationKey{}
		left := len(c.gangs)
		for round := 0; left > 0 || len(asks) > 0; round++ {
			assert.Assert(t, round < 1000, "seed %d: %d gangs are never placed", seed, left)
			for range min(len(asks), 1+rng.IntN(4)) {
				core.Step(now, scheduler.SubmitAsk{Ask: asks[0]})
				asks = asks[1:]
			}
			now = now.Add(time.Second)
			effects, _ := core.Schedule(now, 1+rng.IntN(20))
			assert.NilError(t, core.Check())
			for _, e := range effects {
				if e, ok := e.(scheduler.Allocated); ok {
					runs[e.Ask.App] = append(runs[e.Ask.App], e.Ask.Key)
				}
			}
			holding := map[objects.AppID]bool{}
			for _, g := range c.gangs {
				n := len(runs[g.app.App])
				assert.Assert(t, n == 0 || n == len(g.members), "seed %d: %d of %d members of %s run", seed, n, len(g.members),
					g.app.App)
				if a, ok := core.Partition().Application(g.app.App); ok && n == 0 &&
					len(core.Partition().Reservations().AsksOf(a)) > 0 {
					holding[g.app.App] = true
				}
			}
			assert.Assert(t, len(holding) <= 1, "seed %d: %v hold resources", seed, holding)
			if round%3 > 0 {
				continue
			}
			for _, id := range append(gangIDs(c.gangs), "plain") { // one of those that run ends
				if len(runs[id]) > 0 {
					core.Step(now, scheduler.Release{App: id})
					runs[id] = nil
					if id != "plain" {
						left--
						c.gangs = slices.DeleteFunc(c.gangs, func(g *testGang) bool { return g.app.App == id })
					}
					break
				}
			}
		}
	}
}

func gangIDs(all []*testGang) (ids []objects.AppID) {
	for _, g := range all {
		ids = append(ids, g.app.App)
	}
	return ids
}
