package preemption_test

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
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

type quantity = resources.Quantity

var resourceNames = []string{"memory", "vcore"}

// quotaCluster is a queue root.q with queues below it, and work in them.
type quotaCluster struct {
	part        *objects.Partition
	queue       *objects.Queue
	allocations []*objects.Allocation
}

// drawQuotaCluster makes a world up. Little of everything: so all ways to choose victims can be tried.
func drawQuotaCluster(t *rapid.T) quotaCluster {
	settings := configs.DefaultSettings()
	guarantee := func(label string) resources.Guarantee {
		if !rapid.Bool().Draw(t, label) {
			return resources.Guarantee{}
		}
		return resources.GuaranteeFromMap(rapid.MapOfN(rapid.SampledFrom(resourceNames), quantityIn(0, 6), 1, 2).Draw(t, label+" of"))
	}
	leaf := func(name string) configs.Queue {
		settings := settings
		settings.VictimUnit = rapid.SampledFrom([]policies.VictimUnit{
			policies.VictimUnitAllocation, policies.VictimUnitAllocation, policies.VictimUnitTaskGroup, policies.VictimUnitApplication,
		}).Draw(t, "unit of "+name)
		return configs.Queue{Name: name, Settings: settings, Guaranteed: guarantee(name)}
	}
	q := configs.Queue{
		Name: "q", Parent: true, Settings: settings, Guaranteed: guarantee("q"),
		Max:      resources.LimitFromMap(rapid.MapOfN(rapid.SampledFrom(resourceNames), quantityIn(0, 12), 1, 2).Draw(t, "max")),
		Children: []configs.Queue{leaf("a"), {Name: "p", Parent: true, Settings: settings, Guaranteed: guarantee("p"), Children: []configs.Queue{leaf("b"), leaf("c")}}},
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
			Amounts:    resources.FromMap(rapid.MapOfN(rapid.SampledFrom(resourceNames), quantityIn(1, 5), 1, 2).Draw(t, "amounts")),
			Priority:   rapid.SampledFrom([]int32{0, 0, 0, 1, -1, 2_000_000_000}).Draw(t, "priority"),
			TaskGroup:  rapid.SampledFrom([]string{"", "g", "h"}).Draw(t, "group"),
			Originator: rapid.IntRange(0, 5).Draw(t, "originator") == 0,
			Policy:     rapid.SampledFrom([]objects.PreemptionPolicy{0, objects.PolicySent | objects.PolicyAllowPreemptSelf}).Draw(t, "policy"),
		}
		if rapid.IntRange(0, 8).Draw(t, "bound") == 0 {
			ask.RequiredNode = "n"
		}
		x, err := p.AddReported(ask, "n", now.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "later"))*time.Second))
		must(t, err)
		w.allocations = append(w.allocations, x)
	}
	w.queue, _ = p.Queue("root.q")
	if rapid.Bool().Draw(t, "somebody leaves already") {
		w.part.MarkPreempting(subset(w.allocations, rapid.IntRange(0, 1<<len(w.allocations)-1).Draw(t, "who")), time.Time{})
	}
	return w
}

func quantityIn(from, to int64) *rapid.Generator[quantity] {
	return rapid.Custom(func(t *rapid.T) quantity { return quantity(rapid.Int64Range(from, to).Draw(t, "few")) })
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// subset are the work of which bits has the number.
func subset(work []*objects.Allocation, bits int) (some []*objects.Allocation) {
	for i, x := range work {
		if bits>>i&1 == 1 {
			some = append(some, x)
		}
	}
	return some
}

// heldWithout is what a queue would hold without those who leave already, and without gone.
func (w quotaCluster) heldWithout(q *objects.Queue, gone []*objects.Allocation) resources.Amounts {
	var held resources.Amounts
	for _, x := range w.allocations {
		if q.IsSelfOrAncestorOf(x.Application().Queue()) && !w.part.Preempting(x) && !slices.Contains(gone, x) {
			held = held.Add(x.Ask().Amounts)
		}
	}
	return held
}

// mayAllGo reports whether all of gone may go: none is out of reach, and no queue is brought
// below its guarantee in something that it loses.
func (w quotaCluster) mayAllGo(gone []*objects.Allocation) bool {
	for _, x := range gone {
		if w.part.Preempting(x) || x.Ask().RequiredNode != "" || x.Ask().Priority >= 2_000_000_000 {
			return false
		}
		if x.PreemptedAsUnit() && slices.ContainsFunc(w.part.VictimUnit(x), func(y *objects.Allocation) bool { return !slices.Contains(gone, y) }) {
			return false // it falls with others
		}
		for q := x.Application().Queue(); q.Path() != "root"; q = q.Parent() {
			for name, least := range q.Guaranteed().All() {
				if x.Ask().Amounts.Get(name) > 0 && w.heldWithout(q, gone).Get(name) < least {
					return false
				}
			}
		}
	}
	return true
}

// excess is what q would hold above its max without gone.
func (w quotaCluster) excess(gone []*objects.Allocation) resources.Amounts {
	over := map[string]quantity{}
	for name, most := range w.queue.Max().All() {
		over[name] = max(0, w.heldWithout(w.queue, gone).Get(name)-most)
	}
	return resources.FromMap(over)
}

func TestQuotaVictims_Invariants(t *testing.T) {
	met, unmet := 0, 0
	for invariant, holds := range map[string]func(t *rapid.T, w quotaCluster, gone []*objects.Allocation){
		"nobody goes who may not, and no queue falls below its guarantee": func(t *rapid.T, w quotaCluster, gone []*objects.Allocation) {
			assert.Assert(t, w.mayAllGo(gone))
		},
		"the queue is within its max afterwards whenever that is possible": func(t *rapid.T, w quotaCluster, gone []*objects.Allocation) {
			if w.excess(gone).IsZero() {
				met++
				return
			}
			unmet++
			for bits := range 1 << len(w.allocations) {
				other := subset(w.allocations, bits)
				assert.Assert(t, !w.mayAllGo(other) || !w.excess(other).IsZero(), "%v would do", keys(other))
			}
		},
		"nobody could stay without more being too much": func(t *rapid.T, w quotaCluster, gone []*objects.Allocation) {
			for _, x := range gone {
				fewer := slices.DeleteFunc(slices.Clone(gone), func(y *objects.Allocation) bool { return y == x || x.PreemptedAsUnit() && x.SameVictimUnit(y) })
				assert.Assert(t, !w.excess(fewer).Equal(w.excess(gone)), "%s need not go", x.Key())
			}
		},
		"who is within its max loses nobody": func(t *rapid.T, w quotaCluster, gone []*objects.Allocation) {
			assert.Assert(t, !w.excess(nil).IsZero() || len(gone) == 0)
		},
		"one who agreed to leave goes before one alike who did not": func(t *rapid.T, w quotaCluster, gone []*objects.Allocation) {
			for _, x := range gone {
				for _, y := range w.allocations {
					alike := !x.PreemptedAsUnit() && !y.PreemptedAsUnit() && x.Application() == y.Application() && x.Ask().Amounts.Equal(y.Ask().Amounts)
					if alike && y.Ask().Policy.AllowPreemptSelf() && !x.Ask().Policy.AllowPreemptSelf() && !slices.Contains(gone, y) {
						assert.Assert(t, w.part.Preempting(y) || y.Ask().RequiredNode != "" || y.Ask().Priority >= 2_000_000_000,
							"%s goes rather than %s", x.Key(), y.Key())
					}
				}
			}
		},
		"looking again and again ends, and nobody is told twice": func(t *rapid.T, w quotaCluster, gone []*objects.Allocation) {
			preempted := map[*objects.Allocation]bool{}
			for range len(w.allocations) + 1 {
				if len(gone) == 0 {
					return
				}
				for _, x := range gone {
					assert.Assert(t, !preempted[x], "%s was told twice", x.Key())
					preempted[x] = true
				}
				w.part.MarkPreempting(gone, time.Time{})
				gone = preemption.QuotaVictims(w.part, w.queue)
			}
			t.Fatal("there is no end")
		},
	} {
		t.Run(invariant, rapid.MakeCheck(func(t *rapid.T) {
			w := drawQuotaCluster(t)
			holds(t, w, preemption.QuotaVictims(w.part, w.queue))
		}))
	}
	assert.Assert(t, met > 20 && unmet > 5, "%d could be brought within their max, %d not", met, unmet)
}

func keys(list []*objects.Allocation) (keys []objects.AllocationKey) {
	for _, x := range list {
		keys = append(keys, x.Key())
	}
	return keys
}

// partitionWithLeaf is a partition whose leaf root.q has this max and guarantee and runs this, all of it
// placed at once.
func partitionWithLeaf(t *testing.T, max, guaranteed map[string]quantity, asks ...*objects.Ask) (*objects.Partition, *objects.Queue) {
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
	return &objects.Ask{Key: key, App: "x", Priority: priority, Amounts: resources.FromMap(map[string]quantity{"vcore": vcore, "memory": memory})}
}

// Of two that are alike but for their size either would do: the one goes that is smaller,
// measured by the max, although it has more vcores.
func TestQuotaVictims_SmallerShareFirst(t *testing.T) {
	p, q := partitionWithLeaf(t, map[string]quantity{"vcore": 10, "memory": 100}, nil,
		ask("a", 3, 20, 0), ask("b", 2, 50, 0), ask("stays", 7, 40, 1))
	assert.DeepEqual(t, keys(preemption.QuotaVictims(p, q)), []objects.AllocationKey{"a"})
}

// A guarantee can be in the way of who should go first: a queue that must keep 5 and may hold
// 6 of 10 gives up the 4 that is more important, not the 3 that is less.
func TestQuotaVictims_GuaranteeMayForceMoreImportantVictim(t *testing.T) {
	p, q := partitionWithLeaf(t, map[string]quantity{"vcore": 6}, map[string]quantity{"vcore": 5},
		ask("a3", 3, 0, 3), ask("b3", 3, 0, 3), ask("c4", 4, 0, 4))
	assert.DeepEqual(t, keys(preemption.QuotaVictims(p, q)), []objects.AllocationKey{"c4"})
}
