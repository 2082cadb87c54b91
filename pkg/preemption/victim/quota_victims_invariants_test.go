package victim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

type quantity = resources.Quantity

var resourceNames = []string{"memory", "vcore"}

// quotaCluster is a queue root.q with a max, queues below it, and allocations in them.
type quotaCluster struct {
	part        *objects.Partition
	queue       *objects.Queue
	allocations []*objects.Allocation
}

// drawQuotaCluster draws a random cluster. It is small, so that all sets of victims can be tried.
func drawQuotaCluster(t *rapid.T) quotaCluster {
	settings := configs.DefaultSettings()
	guarantee := func(label string) resources.Guarantee {
		if !rapid.Bool().Draw(t, label) {
			return resources.Guarantee{}
		}
		return resources.GuaranteeFromMap(rapid.MapOfN(rapid.SampledFrom(resourceNames), quantityIn(0, 6), 1, 2).Draw(t,
			label+" of"))
	}
	leaf := func(name string) configs.Queue {
		settings := settings
		settings.VictimUnit = rapid.SampledFrom([]policies.VictimUnit{
			policies.VictimUnitAllocation, policies.VictimUnitAllocation, policies.VictimUnitTaskGroup,
			policies.VictimUnitApplication,
		}).Draw(t, "unit of "+name)
		return configs.Queue{Name: name, Settings: settings, Guaranteed: guarantee(name)}
	}
	q := configs.Queue{
		Name: "q", Parent: true, Settings: settings, Guaranteed: guarantee("q"),
		Max: resources.LimitFromMap(rapid.MapOfN(rapid.SampledFrom(resourceNames), quantityIn(0, 12), 1, 2).Draw(t,
			"max")),
		Children: []configs.Queue{leaf("a"),
			{Name: "p", Parent: true, Settings: settings, Guaranteed: guarantee("p"),
				Children: []configs.Queue{leaf("b"), leaf("c")}}},
	}
	p := objects.NewPartition(configs.Partition{Name: "default", Root: configs.Queue{
		Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: settings, Children: []configs.Queue{q},
	}})
	now := time.Unix(1_000_000_000, 0).UTC()
	must(t, p.AddNode("n", resources.FromMap(map[string]quantity{"vcore": 1000, "memory": 1000}), nil, true))
	w := quotaCluster{part: p}
	for i, path := range []objects.QueuePath{"root.q.a", "root.q.p.b", "root.q.p.c"} {
		must(t, p.AddApplication(objects.AppID(fmt.Sprint(i)), security.User{Name: "u"}, path, nil, now))
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "allocations") {
		ask := &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprint("k", i)), App: objects.AppID(fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "leaf"))),
			Amounts: resources.FromMap(rapid.MapOfN(rapid.SampledFrom(resourceNames), quantityIn(1, 5), 1, 2).Draw(t,
				"amounts")),
			Priority:   rapid.SampledFrom([]int32{0, 0, 0, 1, -1, 2_000_000_000}).Draw(t, "priority"),
			Details:    &objects.AskDetails{TaskGroup: rapid.SampledFrom([]string{"", "g", "h"}).Draw(t, "group")},
			Originator: rapid.IntRange(0, 5).Draw(t, "originator") == 0,
			Policy: rapid.SampledFrom([]objects.PreemptionPolicy{0,
				objects.PolicySent | objects.PolicyAllowPreemptSelf}).Draw(t, "policy"),
		}
		if rapid.IntRange(0, 8).Draw(t, "bound") == 0 {
			ask.Details.RequiredNode = "n"
		}
		x, err := p.AddReported(ask, "n", now.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "later"))*time.Second))
		must(t, err)
		w.allocations = append(w.allocations, x)
	}
	w.queue, _ = p.Queue("root.q")
	if rapid.Bool().Draw(t, "some are preempting") {
		w.part.MarkPreempting(subset(w.allocations,
			rapid.IntRange(0, 1<<len(w.allocations)-1).Draw(t, "which are preempting")), time.Time{})
	}
	return w
}

func quantityIn(from, to int64) *rapid.Generator[quantity] {
	return rapid.Custom(func(t *rapid.T) quantity { return quantity(rapid.Int64Range(from, to).Draw(t, "quantity")) })
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// subset returns the allocations whose index is set in bits.
func subset(allocations []*objects.Allocation, bits int) (some []*objects.Allocation) {
	for i, x := range allocations {
		if bits>>i&1 == 1 {
			some = append(some, x)
		}
	}
	return some
}

// heldWithout is what a queue holds without the preempting allocations and without victims.
func (w quotaCluster) heldWithout(q *objects.Queue, victims []*objects.Allocation) resources.Amounts {
	var held resources.Amounts
	for _, x := range w.allocations {
		if q.IsSelfOrAncestorOf(x.Application().Queue()) && !w.part.Preempting(x) && !slices.Contains(victims, x) {
			held = held.Add(x.Ask().Amounts)
		}
	}
	return held
}

// areLegalVictims reports whether all victims are eligible, with their whole groups, and no queue falls below its
// guarantee in a resource that it loses.
func (w quotaCluster) areLegalVictims(victims []*objects.Allocation) bool {
	for _, x := range victims {
		if w.part.Preempting(x) || x.Ask().RequiredNode() != "" || x.Ask().Priority >= 2_000_000_000 {
			return false
		}
		if victim.PreemptedAsUnit(x) &&
			slices.ContainsFunc(victim.Unit(w.part, x),
				func(y *objects.Allocation) bool { return !slices.Contains(victims, y) }) {
			return false // its group is not complete
		}
		for q := x.Application().Queue(); q.Path() != "root"; q = q.Parent() {
			for name, guaranteed := range q.Guaranteed().All() {
				if x.Ask().Amounts.Get(name) > 0 && w.heldWithout(q, victims).Get(name) < guaranteed {
					return false
				}
			}
		}
	}
	return true
}

// excess is what w.queue holds above its max without victims.
func (w quotaCluster) excess(victims []*objects.Allocation) resources.Amounts {
	over := map[string]quantity{}
	for name, limit := range w.queue.Max().All() {
		over[name] = max(0, w.heldWithout(w.queue, victims).Get(name)-limit)
	}
	return resources.FromMap(over)
}

func TestQuotaVictims_Invariants(t *testing.T) {
	met, unmet := 0, 0
	for invariant, holds := range map[string]func(t *rapid.T, w quotaCluster, victims []*objects.Allocation){
		"every victim is eligible, and no queue falls below its guarantee": func(t *rapid.T, w quotaCluster,
			victims []*objects.Allocation) {
			assert.Assert(t, w.areLegalVictims(victims))
		},
		"the queue is within its max afterwards if that is possible": func(t *rapid.T, w quotaCluster,
			victims []*objects.Allocation) {
			if w.excess(victims).IsZero() {
				met++
				return
			}
			unmet++
			for bits := range 1 << len(w.allocations) {
				other := subset(w.allocations, bits)
				assert.Assert(t, !w.areLegalVictims(other) || !w.excess(other).IsZero(), "the victims %v would be a solution",
					keys(other))
			}
		},
		"no victim can be left out without a larger excess": func(t *rapid.T, w quotaCluster, victims []*objects.Allocation) {
			for _, x := range victims {
				fewer := slices.DeleteFunc(slices.Clone(victims),
					func(y *objects.Allocation) bool { return y == x || victim.PreemptedAsUnit(x) && victim.SameUnit(x, y) })
				assert.Assert(t, !w.excess(fewer).Equal(w.excess(victims)), "victim %s is not needed", x.Key())
			}
		},
		"a queue within its max has no victims": func(t *rapid.T, w quotaCluster, victims []*objects.Allocation) {
			assert.Assert(t, !w.excess(nil).IsZero() || len(victims) == 0)
		},
		"an opted-in allocation is preempted before an equal opted-out one": func(t *rapid.T, w quotaCluster,
			victims []*objects.Allocation) {
			for _, x := range victims {
				for _, y := range w.allocations {
					alike := !victim.PreemptedAsUnit(x) && !victim.PreemptedAsUnit(y) && x.Application() == y.Application() &&
						x.Ask().Amounts.Equal(y.Ask().Amounts)
					if alike && y.Ask().Policy.AllowPreemptSelf() && !x.Ask().Policy.AllowPreemptSelf() &&
						!slices.Contains(victims, y) {
						assert.Assert(t, w.part.Preempting(y) || y.Ask().RequiredNode() != "" || y.Ask().Priority >= 2_000_000_000,
							"%s is preempted instead of %s", x.Key(), y.Key())
					}
				}
			}
		},
		"repeated calls end, and no allocation is preempted twice": func(t *rapid.T, w quotaCluster,
			victims []*objects.Allocation) {
			preempted := map[*objects.Allocation]bool{}
			for range len(w.allocations) + 1 {
				if len(victims) == 0 {
					return
				}
				for _, x := range victims {
					assert.Assert(t, !preempted[x], "%s was preempted twice", x.Key())
					preempted[x] = true
				}
				w.part.MarkPreempting(victims, time.Time{})
				victims = quotaVictims(w.part, w.queue)
			}
			t.Fatal("there are still victims after as many calls as allocations")
		},
	} {
		t.Run(invariant, rapid.MakeCheck(func(t *rapid.T) {
			w := drawQuotaCluster(t)
			holds(t, w, quotaVictims(w.part, w.queue))
		}))
	}
	assert.Assert(t, met > 20 && unmet > 5, "%d queues came within their max, %d did not", met, unmet)
}

func keys(list []*objects.Allocation) (keys []objects.AllocationKey) {
	for _, x := range list {
		keys = append(keys, x.Key())
	}
	return keys
}

// partitionWithLeaf returns a partition whose leaf root.q has this max and guarantee and these allocations, all of the
// same age.
func partitionWithLeaf(t *testing.T, max, guaranteed map[string]quantity, asks ...*objects.Ask) (*objects.Partition,
	*objects.Queue) {
	settings := configs.DefaultSettings()
	p := objects.NewPartition(configs.Partition{Name: "default", Root: configs.Queue{
		Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: settings, Children: []configs.Queue{{
			Name: "q", Settings: settings, Max: resources.LimitFromMap(max), Guaranteed: resources.GuaranteeFromMap(guaranteed),
		}},
	}})
	now := time.Unix(1_000_000_000, 0).UTC()
	assert.NilError(t, p.AddNode("n", resources.FromMap(map[string]quantity{"vcore": 1000, "memory": 1000}), nil, true))
	assert.NilError(t, p.AddApplication("x", security.User{Name: "u"}, "root.q", nil, now))
	for _, ask := range asks {
		_, err := p.AddReported(ask, "n", now)
		assert.NilError(t, err)
	}
	q, _ := p.Queue("root.q")
	return p, q
}

func ask(key objects.AllocationKey, vcore, memory quantity, priority int32) *objects.Ask {
	return &objects.Ask{Key: key, App: "x", Priority: priority,
		Amounts: resources.FromMap(map[string]quantity{"vcore": vcore, "memory": memory})}
}

// Of two equal candidates the one with the smaller share of the max is the victim, although it has more vcores
// (QUO-54).
func TestQuotaVictims_SmallerShareFirst(t *testing.T) {
	p, q := partitionWithLeaf(t, map[string]quantity{"vcore": 10, "memory": 100}, nil,
		ask("a", 3, 20, 0), ask("b", 2, 50, 0), ask("stays", 7, 40, 1))
	assert.DeepEqual(t, keys(quotaVictims(p, q)), []objects.AllocationKey{"a"})
}

// A guarantee can forbid the victim order (QUO-56): a queue with a guarantee of 5 and a max of 6 that holds 10
// loses the allocation of 4, not a less important one of 3.
func TestQuotaVictims_GuaranteeMayForceMoreImportantVictim(t *testing.T) {
	p, q := partitionWithLeaf(t, map[string]quantity{"vcore": 6}, map[string]quantity{"vcore": 5},
		ask("a3", 3, 0, 3), ask("b3", 3, 0, 3), ask("c4", 4, 0, 4))
	assert.DeepEqual(t, keys(quotaVictims(p, q)), []objects.AllocationKey{"c4"})
}
