package objects

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// drawQueue draws a queue of a random tree.
func drawQueue(t *rapid.T, name string, depth int) configs.Queue {
	pick := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) }
	q := configs.Queue{Name: name, Settings: configs.DefaultSettings(), Parent: depth == 0 || depth < 3 &&
		pick("parent", 2) == 0, SubmitACL: security.Everyone()}
	some := func(what string) map[string]resources.Quantity {
		out := map[string]resources.Quantity{}
		for _, r := range []string{"vcore", "memory", "gpu"} {
			if pick(what, 3) == 0 {
				out[r] = resources.Quantity(pick(what, 20))
			}
		}
		return out
	}
	if depth > 0 {
		q.Max, q.Guaranteed = resources.LimitFromMap(some("max")), resources.GuaranteeFromMap(some("guaranteed"))
	}
	q.AppSort = []policies.AppSort{policies.FIFO, policies.Fair, policies.StateAware}[pick("sort", 3)]
	q.PrioritySort = policies.PrioritySort(pick("by", 2))
	q.PriorityPolicy, q.PriorityOffset = policies.PriorityPolicy(pick("priority", 2)), int32(pick("offset", 3))
	q.PreemptionPolicy = policies.PreemptionPolicy(pick("preemption", 2))
	if pick("bounded", 4) == 0 {
		q.MaxApplications = uint64(1 + pick("applications", 3))
	}
	if pick("limited", 6) == 0 {
		q.Limits = []limits.Limit{{Users: []string{limits.Wildcard},
			MaxResources: resources.LimitFromMap(map[string]resources.Quantity{"vcore": 7})}}
	}
	if pick("delay", 3) == 0 {
		q.QuotaPreemptionDelay = time.Duration(1 + pick("delay", 3))
	}
	for _, name := range []string{"a", "b", "c", "d"}[:4*boolToInt(q.Parent)] {
		if pick("child", 3) > 0 {
			q.Children = append(q.Children, drawQueue(t, name, depth+1))
		}
	}
	return q
}

// orderingText is everything of a partition that decisions read and a reload changes.
func (p *Partition) orderingText() []string {
	out := []string{fmt.Sprint(p.quotas, p.journal.order.sharesStale)}
	var ramping []string
	for _, r := range p.deadlines.ramping {
		ramping = append(ramping, fmt.Sprint(r.app.ID(), r.from))
	}
	slices.Sort(ramping)
	for _, q := range p.queues {
		var fit feasibility.Mask
		for s := range p.shapes.Slots {
			fit.Set(s.Slot(), true)
		}
		q.RestrictToHeadroom(fit)
		var order []string
		for c := range q.children.All {
			order = append(order, string(c.path))
		}
		for a := range q.apps.All {
			order = append(order, string(a.ID()), fmt.Sprint(a.key.Shares, a.entry.Mask))
		}
		out = append(out,
			fmt.Sprint(q.path, q.shareDenominators, q.key.Share, q.policy, q.priorities.Max(), fit, q.entry.Indexed(), order,
				q.managed, q.draining,
				q.quota.Max(), q.quota.Guaranteed(), q.quota.MaxApplications(), q.conf))
	}
	slices.Sort(out)
	return append(out, ramping...)
}

// A reload by difference has the same result as a rebuild of everything.
func TestReconfigure_DifferenceEqualsRebuild(t *testing.T) {
	byDifference, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		conf := func() configs.Partition {
			return configs.Partition{Name: "default", Root: drawQueue(t, "root", 0), PreemptionEnabled: true,
				QuotaPreemptionEnabled: true, NodeSortPolicy: policies.DefaultNodeSortPolicy()}
		}
		first := conf()
		p, now := NewPartition(first), time.Unix(1_000_000_000, 0)
		assert.NilError(t,
			p.AddNode("n", resources.FromMap(map[string]resources.Quantity{"vcore": 40, "memory": 30}), nil, true))
		apps := 0
		for range 4 {
			for _, path := range slices.Sorted(keysOf(p.queues)) {
				if q := p.queues[path]; q.Leaf() && rapid.Bool().Draw(t, "application") {
					id := AppID(fmt.Sprint("app", apps))
					if p.AddApplication(id, security.User{Name: "ann"}, path, nil, now) != nil {
						continue // the queue drains
					}
					apps++
					for k := range 3 {
						x, err := p.AddAsk(&Ask{Key: AllocationKey(fmt.Sprint(id, k)), App: id,
							Amounts:  resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(1 + k)}),
							Priority: int32(k)}, now)
						assert.NilError(t, err)
						p.RefreshShares()
						if k == 0 {
							_ = p.Place(x, p.nodes["n"], now)
						}
					}
				}
			}
			to := conf()
			if rapid.Bool().Draw(t, "mostly the same") { // one subtree is Replaced
				root := p.conf.Root
				root.Children = slices.Clone(root.Children)
				if i := rapid.IntRange(0, 3).Draw(t, "which"); i < len(root.Children) {
					root.Children[i] = drawQueue(t, root.Children[i].Name, 1)
				}
				to.Root = root
			}
			var prepared *configs.Difference
			if rapid.Bool().Draw(t, "prepared") {
				prepared = configs.NewDifference(p.conf, to)
			}
			watch := p.Watch()
			if p.Reconfigure(to, prepared) != nil {
				continue
			}
			all++
			byDifference += boolToInt(p.Watched(watch)) // otherwise everything was rebuilt
			p.RefreshShares()
			assert.NilError(t, p.Check())
			got := p.orderingText()
			p.rebuildOrdering()
			for _, q := range p.queues {
				p.journal.post(Change{Kind: QueueSettingsChanged, Queue: q})
			}
			p.journal.post(Change{Kind: SettingsApplied})
			p.rebuildClassUsage()
			p.RefreshShares()
			assert.DeepEqual(t, got, p.orderingText())
		}
	})
	t.Logf("%d reloads, %d of them by difference", all, byDifference)
	assert.Assert(t, byDifference > 50 && byDifference < all, "%d of %d reloads", byDifference, all)
}

func keysOf(m map[QueuePath]*Queue) func(func(QueuePath) bool) {
	return func(yield func(QueuePath) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// The cost of a reload depends on the difference, not on the size of the configuration; and only
// queues that changed, with those above, are recorded as changed.
func TestReconfigure_CostFollowsDifference(t *testing.T) {
	tree := func(leaves int, last resources.Quantity) configs.Partition {
		conf := configs.Partition{Name: "default",
			Root: configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone()}}
		for i := range 20 {
			parent := configs.Queue{Name: fmt.Sprint("p", i), Parent: true}
			for j := range leaves {
				parent.Children = append(parent.Children,
					configs.Queue{Name: fmt.Sprint("l", j), Max: resources.LimitFromMap(map[string]resources.Quantity{"vcore": 100})})
			}
			conf.Root.Children = append(conf.Root.Children, parent)
		}
		conf.Root.Children[19].Children[leaves-1].Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": last})
		return conf
	}
	cost := func(leaves int) (allocations float64, changed []string) {
		confs := []configs.Partition{tree(leaves, 100), tree(leaves, 101)}
		p := NewPartition(confs[0])
		for i := range 20 * leaves {
			id := AppID(fmt.Sprint("app", i))
			assert.NilError(t,
				p.AddApplication(id, security.User{Name: "ann"}, QueuePath(fmt.Sprintf("root.p%d.l%d", i/leaves, i%leaves)), nil,
					epoch))
			_, err := p.AddAsk(&Ask{Key: AllocationKey(id), App: id, Amounts: cores(1)}, epoch)
			assert.NilError(t, err)
		}
		p.RefreshShares()
		differences := []*configs.Difference{configs.NewDifference(confs[1], confs[0]),
			configs.NewDifference(confs[0], confs[1])}
		watch := p.Watch()
		for watch.Next() != nil {
		}
		i := 0
		allocations = testing.AllocsPerRun(10, func() {
			i++
			assert.NilError(t, p.Reconfigure(confs[i%2], differences[i%2]))
			p.RefreshShares()
		})
		assert.Assert(t, p.Watched(watch), "the watch has ended")
		for x := watch.Next(); x != nil; x = watch.Next() {
			changed = append(changed, string(x.(*Queue).path))
		}
		assert.NilError(t, p.Check())
		return allocations, changed
	}
	few, _ := cost(10)
	many, changed := cost(100)
	assert.Assert(t, many <= few+2, "%v allocations with 200 queues, %v with 2,000", few, many)
	assert.Equal(t, strings.Join(changed, " "), "root.p19.l99")
}
