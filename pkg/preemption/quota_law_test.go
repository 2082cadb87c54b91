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

var kinds = []string{"memory", "vcore"}

// world is a queue root.q with queues below it, and work in them.
type world struct {
	p    *objects.Partition
	q    *objects.Queue
	work []*objects.Allocation
}

// draw makes a world up. Little of everything: so all ways to choose victims can be tried.
func draw(t *rapid.T) world {
	settings := configs.DefaultSettings()
	guarantee := func(label string) resources.Guarantee {
		if !rapid.Bool().Draw(t, label) {
			return resources.Guarantee{}
		}
		return resources.GuaranteeFromMap(rapid.MapOfN(rapid.SampledFrom(kinds), few(0, 6), 1, 2).Draw(t, label+" of"))
	}
	leaf := func(name string) configs.Queue {
		settings := settings
		settings.VictimUnit = rapid.SampledFrom([]policies.VictimUnit{
			policies.UnitAllocation, policies.UnitAllocation, policies.UnitTaskGroup, policies.UnitApplication,
		}).Draw(t, "unit of "+name)
		return configs.Queue{Name: name, Settings: settings, Guaranteed: guarantee(name)}
	}
	q := configs.Queue{
		Name: "q", Parent: true, Settings: settings, Guaranteed: guarantee("q"),
		Max:      resources.LimitFromMap(rapid.MapOfN(rapid.SampledFrom(kinds), few(0, 12), 1, 2).Draw(t, "max")),
		Children: []configs.Queue{leaf("a"), {Name: "p", Parent: true, Settings: settings, Guaranteed: guarantee("p"), Children: []configs.Queue{leaf("b"), leaf("c")}}},
	}
	p := objects.NewPartition(configs.Partition{Name: "default", Root: configs.Queue{
		Name: "root", Parent: true, Submit: security.Everyone(), Settings: settings, Children: []configs.Queue{q},
	}})
	now := time.Unix(1_000_000_000, 0).UTC()
	must(t, p.AddNode("n", resources.FromMap(map[string]quantity{"vcore": 1000, "memory": 1000}), nil, true))
	w := world{p: p}
	for i, path := range []objects.QueuePath{"root.q.a", "root.q.p.b", "root.q.p.c"} {
		must(t, p.AddApplication(objects.AppID(fmt.Sprint(i)), security.User{Name: "u"}, path, nil, now))
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "allocations") {
		ask := &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprint("k", i)), App: objects.AppID(fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "leaf"))),
			Amounts:    resources.FromMap(rapid.MapOfN(rapid.SampledFrom(kinds), few(1, 5), 1, 2).Draw(t, "amounts")),
			Priority:   rapid.SampledFrom([]int32{0, 0, 0, 1, -1, 2_000_000_000}).Draw(t, "priority"),
			TaskGroup:  rapid.SampledFrom([]string{"", "g", "h"}).Draw(t, "group"),
			Originator: rapid.IntRange(0, 5).Draw(t, "originator") == 0,
			Policy:     rapid.SampledFrom([]objects.PreemptionPolicy{0, objects.PolicySent | objects.PolicySelf}).Draw(t, "policy"),
		}
		if rapid.IntRange(0, 8).Draw(t, "bound") == 0 {
			ask.RequiredNode = "n"
		}
		x, err := p.Report(ask, "n", now.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "later"))*time.Second))
		must(t, err)
		w.work = append(w.work, x)
	}
	w.q, _ = p.Queue("root.q")
	if rapid.Bool().Draw(t, "somebody leaves already") {
		w.p.Dismiss(subset(w.work, rapid.IntRange(0, 1<<len(w.work)-1).Draw(t, "who")), time.Time{})
	}
	return w
}

func few(from, to int64) *rapid.Generator[quantity] {
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

// stays is what a queue would hold without those who leave already, and without gone.
func (w world) stays(q *objects.Queue, gone []*objects.Allocation) resources.Amounts {
	var held resources.Amounts
	for _, x := range w.work {
		if q.Above(x.Application().Queue()) && !w.p.Leaving(x) && !slices.Contains(gone, x) {
			held = held.Add(x.Ask().Amounts)
		}
	}
	return held
}

// allowed reports whether all of gone may go: none is out of reach, and no queue is brought
// below its guarantee in something that it loses.
func (w world) allowed(gone []*objects.Allocation) bool {
	for _, x := range gone {
		if w.p.Leaving(x) || x.Ask().RequiredNode != "" || x.Ask().Priority >= 2_000_000_000 {
			return false
		}
		if x.Grouped() && slices.ContainsFunc(w.p.Group(x), func(y *objects.Allocation) bool { return !slices.Contains(gone, y) }) {
			return false // it falls with others
		}
		for q := x.Application().Queue(); q.Path() != "root"; q = q.Parent() {
			for name, least := range q.Guaranteed().All() {
				if x.Ask().Amounts.Get(name) > 0 && w.stays(q, gone).Get(name) < least {
					return false
				}
			}
		}
	}
	return true
}

// excess is what q would hold above its max without gone.
func (w world) excess(gone []*objects.Allocation) resources.Amounts {
	over := map[string]quantity{}
	for name, most := range w.q.Max().All() {
		over[name] = max(0, w.stays(w.q, gone).Get(name)-most)
	}
	return resources.FromMap(over)
}

func TestLawsOfALoweredMax(t *testing.T) {
	met, unmet := 0, 0
	for sentence, holds := range map[string]func(t *rapid.T, w world, gone []*objects.Allocation){
		"nobody goes who may not, and no queue falls below its guarantee": func(t *rapid.T, w world, gone []*objects.Allocation) {
			assert.Assert(t, w.allowed(gone))
		},
		"the queue is within its max afterwards whenever that is possible": func(t *rapid.T, w world, gone []*objects.Allocation) {
			if w.excess(gone).IsZero() {
				met++
				return
			}
			unmet++
			for bits := range 1 << len(w.work) {
				other := subset(w.work, bits)
				assert.Assert(t, !w.allowed(other) || !w.excess(other).IsZero(), "%v would do", keys(other))
			}
		},
		"nobody could stay without more being too much": func(t *rapid.T, w world, gone []*objects.Allocation) {
			for _, x := range gone {
				fewer := slices.DeleteFunc(slices.Clone(gone), func(y *objects.Allocation) bool { return y == x || x.Grouped() && x.Together(y) })
				assert.Assert(t, !w.excess(fewer).Equal(w.excess(gone)), "%s need not go", x.Key())
			}
		},
		"who is within its max loses nobody": func(t *rapid.T, w world, gone []*objects.Allocation) {
			assert.Assert(t, !w.excess(nil).IsZero() || len(gone) == 0)
		},
		"one who agreed to leave goes before one alike who did not": func(t *rapid.T, w world, gone []*objects.Allocation) {
			for _, x := range gone {
				for _, y := range w.work {
					alike := !x.Grouped() && !y.Grouped() && x.Application() == y.Application() && x.Ask().Amounts.Equal(y.Ask().Amounts)
					if alike && y.Ask().Policy.Self() && !x.Ask().Policy.Self() && !slices.Contains(gone, y) {
						assert.Assert(t, w.p.Leaving(y) || y.Ask().RequiredNode != "" || y.Ask().Priority >= 2_000_000_000,
							"%s goes rather than %s", x.Key(), y.Key())
					}
				}
			}
		},
		"looking again and again ends, and nobody is told twice": func(t *rapid.T, w world, gone []*objects.Allocation) {
			told := map[*objects.Allocation]bool{}
			for range len(w.work) + 1 {
				if len(gone) == 0 {
					return
				}
				for _, x := range gone {
					assert.Assert(t, !told[x], "%s was told twice", x.Key())
					told[x] = true
				}
				w.p.Dismiss(gone, time.Time{})
				gone = preemption.ForQuota(w.p, w.q)
			}
			t.Fatal("there is no end")
		},
	} {
		t.Run(sentence, rapid.MakeCheck(func(t *rapid.T) {
			w := draw(t)
			holds(t, w, preemption.ForQuota(w.p, w.q))
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

// leaf is a partition whose leaf root.q has this max and guarantee and runs this, all of it
// placed at once.
func leaf(t *testing.T, max, guaranteed map[string]quantity, asks ...*objects.Ask) (*objects.Partition, *objects.Queue) {
	settings := configs.DefaultSettings()
	p := objects.NewPartition(configs.Partition{Name: "default", Root: configs.Queue{
		Name: "root", Parent: true, Submit: security.Everyone(), Settings: settings, Children: []configs.Queue{{
			Name: "q", Settings: settings, Max: resources.LimitFromMap(max), Guaranteed: resources.GuaranteeFromMap(guaranteed),
		}},
	}})
	now := time.Unix(1_000_000_000, 0).UTC()
	assert.NilError(t, p.AddNode("n", resources.FromMap(map[string]quantity{"vcore": 1000, "memory": 1000}), nil, true))
	assert.NilError(t, p.AddApplication("x", security.User{Name: "u"}, "root.q", nil, now))
	for _, ask := range asks {
		_, err := p.Report(ask, "n", now)
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
func TestTheSmallerShareGoesFirst(t *testing.T) {
	p, q := leaf(t, map[string]quantity{"vcore": 10, "memory": 100}, nil,
		ask("a", 3, 20, 0), ask("b", 2, 50, 0), ask("stays", 7, 40, 1))
	assert.DeepEqual(t, keys(preemption.ForQuota(p, q)), []objects.AllocationKey{"a"})
}

// A guarantee can be in the way of who should go first: a queue that must keep 5 and may hold
// 6 of 10 gives up the 4 that is more important, not the 3 that is less.
func TestAGuaranteeCanMakeTheMoreImportantGo(t *testing.T) {
	p, q := leaf(t, map[string]quantity{"vcore": 6}, map[string]quantity{"vcore": 5},
		ask("a3", 3, 0, 3), ask("b3", 3, 0, 3), ask("c4", 4, 0, 4))
	assert.DeepEqual(t, keys(preemption.ForQuota(p, q)), []objects.AllocationKey{"c4"})
}
