package policies_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/decay"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The random keys have few values, so that two of them are often equal in one field and
// the next field decides.

var (
	name     = rapid.SampledFrom([]string{"", "a", "b", "c"})
	priority = rapid.OneOf(rapid.Int32Range(-1, 1), rapid.SampledFrom([]int32{
		math.MinInt32, math.MaxInt32, math.MinInt16, math.MinInt16 + 1, math.MinInt16 + 2, math.MaxInt16 - 1, math.MaxInt16,
	}))
	quantity  = rapid.OneOf(rapid.Int64Range(0, 3), rapid.SampledFrom([]int64{math.MaxInt64 - 1, math.MaxInt64}))
	submitted = rapid.OneOf(rapid.Int64Range(0, 2), rapid.SampledFrom([]int64{math.MinInt64, -1, 1 << 16, math.MaxInt64}))
	current   = rapid.Custom(func(t *rapid.T) policies.CurrentPriority {
		if rapid.Bool().Draw(t, "pending") {
			return policies.Pending(priority.Draw(t, "priority"))
		}
		return policies.CurrentPriority{Value: priority.Draw(t, "undefined")}
	})
	share = rapid.Custom(func(t *rapid.T) resources.Share {
		used, total := quantity.Draw(t, "used"), quantity.Draw(t, "total")
		return resources.Fraction(resources.Quantity(used), resources.Quantity(total))
	})
	shares = rapid.Custom(func(t *rapid.T) resources.Shares {
		var s resources.Shares
		for _, x := range rapid.SliceOfN(share, 0, 3).Draw(t, "shares") {
			if x.Compare(resources.Share{}) != 0 {
				s = append(s, x)
			}
		}
		s.Sort()
		return s
	})
)

// usages have few values, of which some share an abbreviated key.
var usages = rapid.Custom(func(t *rapid.T) decay.Number {
	n := decay.Of(rapid.SampledFrom([]uint64{0, 1, 3, math.MaxUint64 - 1, math.MaxUint64}).Draw(t, "usage"))
	return n.Times(decay.Growth(rapid.SampledFrom([]int64{0, 1, -256, 256 << 27, -256 << 27}).Draw(t, "ticks")))
})

// queueSorts and appSorts are all orders.
var (
	queueSorts = []policies.QueueSort{
		{Priority: first}, {Priority: ignored}, {Priority: first, OverTime: true}, {Priority: ignored, OverTime: true},
	}
	appSorts = append(policies.AppSorts(), policies.OverTime)
)

var queues = rapid.Custom(func(t *rapid.T) *policies.QueueKey {
	return &policies.QueueKey{
		Path:     name.Draw(t, "path"),
		Priority: current.Draw(t, "priority"),
		Share:    share.Draw(t, "share"),
		Pending:  resources.Quantity(quantity.Draw(t, "pending")),
		Usage:    usages.Draw(t, "usage"),
	}
})

var apps = rapid.Custom(func(t *rapid.T) *policies.AppKey {
	return &policies.AppKey{
		ID:        name.Draw(t, "id"),
		Priority:  current.Draw(t, "priority"),
		Submitted: submitted.Draw(t, "submitted"),
		Shares:    shares.Draw(t, "shares"),
		Usage:     usages.Draw(t, "usage"),
		Started:   rapid.Bool().Draw(t, "started"),
	}
})

var asks = rapid.Custom(func(t *rapid.T) *policies.AskKey {
	return &policies.AskKey{
		Priority: priority.Draw(t, "priority"),
		Created:  submitted.Draw(t, "created"),
		Arrival:  rapid.Uint64Range(0, 3).Draw(t, "arrival"),
	}
})

var nodes = rapid.Custom(func(t *rapid.T) *policies.NodeKey {
	odd := []float64{math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1), math.NaN(), 0.1 + 0.2, 0.3}
	return &policies.NodeKey{
		Score: rapid.OneOf(rapid.SampledFrom(odd), rapid.Float64()).Draw(t, "score"),
		ID:    name.Draw(t, "id"),
	}
})

// assertTotalOrder checks that compare is a total order: antisymmetric, transitive, and equal only for keys of
// the same identity.
func assertTotalOrder[K any, ID comparable](
	t *testing.T, keys *rapid.Generator[K], id func(K) ID, compare func(a, b K) int,
) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := keys.Draw(t, "a"), keys.Draw(t, "b"), keys.Draw(t, "c")
		ab, bc, ac := sign(compare(a, b)), sign(compare(b, c)), sign(compare(a, c))
		assert.Equal(t, compare(a, a), 0, "a key does not equal itself")
		assert.Equal(t, ab, -sign(compare(b, a)), "compare(a, b) and compare(b, a) contradict each other")
		assert.Assert(t, ab != 0 || id(a) == id(b), "two different keys are equal")
		assert.Assert(t, ab > 0 || bc > 0 || ac == min(ab, bc), "a is before b and b before c, but a is not before c")
	})
}

func sign(n int) int { return cmp.Compare(n, 0) }

func TestCompare_IsATotalOrder(t *testing.T) {
	for _, by := range queueSorts {
		t.Run(fmt.Sprintf("queues, %+v", by), func(t *testing.T) {
			assertTotalOrder(t, queues, func(k *policies.QueueKey) string { return k.Path },
				func(a, b *policies.QueueKey) int { return policies.CompareQueues(a, b, by) })
		})
	}
	for _, by := range []policies.PrioritySort{policies.PriorityFirst, policies.PriorityIgnored} {
		appID := func(k *policies.AppKey) string { return k.ID }
		for _, sort := range appSorts {
			t.Run(fmt.Sprintf("applications, %v, priority %v", sort, by), func(t *testing.T) {
				assertTotalOrder(t, apps, appID, func(a, b *policies.AppKey) int { return sort.CompareApps(a, b, by) })
			})
		}
		t.Run(fmt.Sprintf("applications that have not ramped up, priority %v", by), func(t *testing.T) {
			assertTotalOrder(t, apps, appID, func(a, b *policies.AppKey) int { return policies.CompareStateAware(a, b, by) })
		})
	}
	t.Run("asks", func(t *testing.T) {
		assertTotalOrder(t, asks, func(k *policies.AskKey) uint64 { return k.Arrival }, policies.CompareAsks)
	})
	t.Run("nodes", func(t *testing.T) {
		assertTotalOrder(t, nodes, func(k *policies.NodeKey) string { return k.ID }, policies.CompareNodes)
	})
}

// A criterion decides as the comparison does, and by the first key that differs in the order of the policy (EXP-6).
func TestCriterion_AgreesWithCompare(t *testing.T) {
	for _, by := range queueSorts {
		rapid.Check(t, func(t *rapid.T) {
			a, b := queues.Draw(t, "a"), queues.Draw(t, "b")
			criterion, order := policies.QueueCriterion(a, b, by)
			assert.Equal(t, sign(order), sign(policies.CompareQueues(a, b, by)))
			use := a.Share.Compare(b.Share)
			if by.OverTime {
				use = a.Usage.Compare(b.Usage)
			}
			assert.Equal(t, criterion == policies.ByPriority, a.Priority.Compare(b.Priority) != 0 &&
				(by.Priority == policies.PriorityFirst || use == 0))
			assert.Assert(t, criterion != policies.ByShare || !by.OverTime)
			assert.Assert(t, criterion != policies.ByUsage || by.OverTime)
		})
	}
	for _, by := range []policies.PrioritySort{policies.PriorityFirst, policies.PriorityIgnored} {
		rapid.Check(t, func(t *rapid.T) {
			for _, s := range appSorts {
				a, b := apps.Draw(t, "a"), apps.Draw(t, "b")
				criterion, order := s.AppCriterion(a, b, by)
				assert.Equal(t, sign(order), sign(s.CompareApps(a, b, by)))
				assert.Assert(t, criterion != policies.ByShare || s == policies.Fair)
				assert.Assert(t, criterion != policies.ByUsage || s == policies.OverTime)
				assert.Assert(t, criterion != policies.BySubmission || s != policies.Fair)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := asks.Draw(t, "a"), asks.Draw(t, "b")
		criterion, order := policies.AskCriterion(a, b)
		assert.Equal(t, sign(order), sign(policies.CompareAsks(a, b)))
		assert.Equal(t, criterion == policies.ByPriority, a.Priority != b.Priority)
	})
}

// assertAbbreviates checks that abbreviated keys that differ order like the keys, and that some of them do.
func assertAbbreviates[K any](
	t *testing.T, keys *rapid.Generator[K], abbreviate func(K) uint64, compare func(a, b K) int,
) {
	t.Helper()
	decided := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := keys.Draw(t, "a"), keys.Draw(t, "b")
		if x := cmp.Compare(abbreviate(a), abbreviate(b)); x != 0 {
			decided++
			assert.Equal(t, x, sign(compare(a, b)), "abbreviated keys %x and %x", abbreviate(a), abbreviate(b))
		}
	})
	assert.Assert(t, decided > 0, "the abbreviated key is the same for all")
}

func TestAbbreviate_OrdersLikeCompare(t *testing.T) {
	for _, by := range queueSorts {
		t.Run(fmt.Sprintf("queues, %+v", by), func(t *testing.T) {
			assertAbbreviates(t, queues, func(k *policies.QueueKey) uint64 { return k.Abbreviate(by) },
				func(a, b *policies.QueueKey) int { return policies.CompareQueues(a, b, by) })
		})
	}
	for _, by := range []policies.PrioritySort{policies.PriorityFirst, policies.PriorityIgnored} {
		for _, sort := range appSorts {
			t.Run(fmt.Sprintf("applications, %v, priority %v", sort, by), func(t *testing.T) {
				assertAbbreviates(t, apps, func(k *policies.AppKey) uint64 { return sort.AbbreviateApp(k, by) },
					func(a, b *policies.AppKey) int { return sort.CompareApps(a, b, by) })
			})
		}
	}
	t.Run("nodes", func(t *testing.T) {
		assertAbbreviates(t, nodes, (*policies.NodeKey).Abbreviate, policies.CompareNodes)
	})
}

const (
	first   = policies.PriorityFirst
	ignored = policies.PriorityIgnored
	fifo    = policies.FIFO
	fair    = policies.Fair
)

// A wrong order may be a total order too; these tests check the order itself.
func TestCompareQueues_Order(t *testing.T) {
	key := func(path string, priority int32, used, pending resources.Quantity) policies.QueueKey {
		return policies.QueueKey{
			Path: path, Priority: policies.Pending(priority), Share: resources.Fraction(used, 10), Pending: pending,
		}
	}
	idle := policies.QueueKey{Path: "idle", Share: resources.Fraction(0, 10)}
	cases := []struct {
		name          string
		ahead, behind policies.QueueKey
		by            policies.PrioritySort
	}{
		{"the higher priority goes first, whatever the share", key("b", 2, 9, 1), key("a", 1, 0, 1), first},
		{"priority ignored, the smaller share goes first", key("b", 1, 0, 1), key("a", 2, 9, 1), ignored},
		{"equal priority: the smaller share", key("b", 1, 0, 1), key("a", 1, 9, 1), first},
		{"priority ignored, equal share: the higher priority", key("b", 2, 5, 1), key("a", 1, 5, 1), ignored},
		{"then the larger pending sum", key("b", 1, 5, 2), key("a", 1, 5, 1), first},
		{"then the path", key("a", 1, 5, 1), key("b", 1, 5, 1), first},
		{"nothing pending is below the lowest priority", key("b", math.MinInt32, 9, 1), idle, first},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, policies.CompareQueues(&c.ahead, &c.behind, policies.QueueSort{Priority: c.by}), -1)
		})
	}
}

func TestCompareApps_Order(t *testing.T) {
	key := func(id string, priority int32, submitted int64, used resources.Quantity) policies.AppKey {
		return policies.AppKey{
			ID: id, Priority: policies.Pending(priority), Submitted: submitted,
			Shares: resources.Shares{resources.Fraction(used, 10)},
		}
	}
	cases := []struct {
		name          string
		ahead, behind policies.AppKey
		sort          policies.AppSort
		by            policies.PrioritySort
	}{
		{"fifo: the higher priority", key("b", 2, 9, 1), key("a", 1, 0, 1), fifo, first},
		{"fifo: then the older submission", key("b", 1, 0, 9), key("a", 1, 9, 1), fifo, first},
		{"fifo, priority ignored: the older submission", key("b", 1, 0, 1), key("a", 2, 9, 1), fifo, ignored},
		{"fifo, priority ignored, equal submission: the higher priority", key("b", 2, 0, 1), key("a", 1, 0, 1), fifo,
			ignored},
		{"fair: then the smaller usage", key("b", 1, 9, 1), key("a", 1, 0, 9), fair, first},
		{"fair, priority ignored: the smaller usage", key("b", 1, 9, 1), key("a", 2, 0, 9), fair, ignored},
		{"fair: then the ID, not the submission", key("a", 1, 9, 1), key("b", 1, 0, 1), fair, first},
		{"over time: then the older submission", key("b", 1, 0, 9), key("a", 1, 9, 1), policies.OverTime, first},
		{"stateaware: the older submission", key("b", 1, 0, 9), key("a", 1, 9, 1), policies.StateAware, first},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.sort.CompareApps(&c.ahead, &c.behind, c.by), -1)
		})
	}
}

func TestCompareStateAware_Order(t *testing.T) {
	started := policies.AppKey{ID: "b", Priority: policies.Pending(1), Submitted: 9, Started: true}
	older := policies.AppKey{ID: "a", Priority: policies.Pending(1), Submitted: 0}
	urgent := policies.AppKey{ID: "c", Priority: policies.Pending(2), Submitted: 9}
	before := func(a, b policies.AppKey, by policies.PrioritySort) bool {
		return policies.CompareStateAware(&a, &b, by) < 0
	}
	assert.Assert(t, before(started, older, first), "an application with its first allocation goes before an older one")
	assert.Assert(t, before(urgent, started, first), "a higher priority goes before a first allocation")
	assert.Assert(t, before(started, urgent, ignored), "with priority ignored the first allocation goes first")
	assert.Assert(t, before(older, urgent, ignored), "with priority ignored the oldest goes first")
}

func TestCompareAsks_Order(t *testing.T) {
	keys := []policies.AskKey{ // in order
		{Priority: 2, Created: 9, Arrival: 9},
		{Priority: 1, Created: 0, Arrival: 8},
		{Priority: 1, Created: 5, Arrival: 1},
		{Priority: 1, Created: 5, Arrival: 2},
	}
	for i := range keys[1:] {
		assert.Equal(t, policies.CompareAsks(&keys[i], &keys[i+1]), -1, "%v must be before %v", keys[i], keys[i+1])
	}
}

func TestPriorityCounter_Max(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var counter policies.PriorityCounter
		var list []policies.CurrentPriority
		highest := func() policies.CurrentPriority {
			top := policies.CurrentPriority{}
			for _, c := range list {
				if c.Compare(top) > 0 {
					top = c
				}
			}
			return top
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				c := current.Draw(t, "c")
				counter.Add(c)
				list = append(list, c)
			},
			"remove": func(t *rapid.T) {
				if len(list) == 0 {
					t.Skip("nothing to remove")
				}
				i := rapid.IntRange(0, len(list)-1).Draw(t, "i")
				counter.Remove(list[i])
				list = slices.Delete(list, i, i+1)
			},
			"": func(t *rapid.T) { assert.Equal(t, counter.Max(), highest()) },
		})
	})
}

func TestPriorityCounter_RemoveUncountedPanics(t *testing.T) {
	var counter policies.PriorityCounter
	counter.Add(policies.Pending(1))
	counter.Remove(policies.CurrentPriority{Value: 7}) // nothing pending is never counted
	defer func() { assert.Equal(t, recover(), "policies: priority 2 was never counted") }()
	counter.Remove(policies.Pending(2))
}

func TestPriorityPolicy_ApplyOffset(t *testing.T) {
	pending, none := policies.Pending, policies.CurrentPriority{}
	const plain, fence = policies.PriorityDefault, policies.PriorityFence
	const smallest, largest = math.MinInt32, math.MaxInt32
	cases := []struct {
		name    string
		policy  policies.PriorityPolicy
		highest policies.CurrentPriority
		offset  int32
		want    policies.CurrentPriority
	}{
		{"without offset the priority is exposed as it is", plain, pending(5), 0, pending(5)},
		{"a positive offset", plain, pending(5), 10, pending(15)},
		{"a negative offset", plain, pending(5), -10, pending(-5)},
		{"clamped at the largest int32", plain, pending(largest), 1, pending(largest)},
		{"clamped at the smallest int32", plain, pending(smallest), -1, pending(smallest)},
		{"smallest priority, largest offset", plain, pending(smallest), largest, pending(-1)},
		{"a fence exposes its offset only", fence, pending(5), 3, pending(3)},
		{"a fence without offset exposes zero", fence, pending(5), 0, pending(0)},
		{"nothing pending, with an offset", plain, none, 10, none},
		{"nothing pending, with a fence", fence, none, 10, none},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.policy.ApplyOffset(c.highest, c.offset), c.want)
		})
	}
}

func TestPriorityPolicy_ApplyOffsetIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]policies.PriorityPolicy{policies.PriorityDefault, policies.PriorityFence})
		p := policy.Draw(t, "policy")
		a, b, offset := current.Draw(t, "a"), current.Draw(t, "b"), priority.Draw(t, "offset")
		if a.Compare(b) <= 0 {
			assert.Assert(t, p.ApplyOffset(a, offset).Compare(p.ApplyOffset(b, offset)) <= 0)
		}
	})
}

func TestParse_SortPolicyNames(t *testing.T) {
	t.Run("application sort policies have these names", func(t *testing.T) {
		assert.Equal(t, fmt.Sprint(policies.AppSorts()), "[fifo fair stateaware]")
	})
	t.Run("node sort policies have these names, and an empty name means fair", func(t *testing.T) {
		for s, want := range map[string]policies.NodeSort{
			"": policies.NodeSortFair, "fair": policies.NodeSortFair, "binpacking": policies.NodeSortBinPacking,
		} {
			got, ok := policies.ParseNodeSort(s)
			assert.Assert(t, ok && got == want, "%q", s)
		}
		for _, s := range []string{"Fair", "binPacking", "spread", " fair"} {
			got, ok := policies.ParseNodeSort(s)
			assert.Assert(t, !ok && got == policies.NodeSortFair, "%q", s)
		}
	})
}

func TestNodeSortPolicy_Score(t *testing.T) {
	of := func(vcore, memory resources.Quantity) func(string) resources.Quantity {
		return func(resource string) resources.Quantity {
			return map[string]resources.Quantity{resources.VCore: vcore, "memory": memory}[resource]
		}
	}
	spread := policies.DefaultNodeSortPolicy()
	pack := policies.NodeSortPolicy{Sort: policies.NodeSortBinPacking, Weights: spread.Weights}
	weighted := policies.NodeSortPolicy{Weights: []policies.Weight{
		{Resource: "memory", Weight: 3}, {Resource: resources.VCore, Weight: 1},
	}}
	cases := []struct {
		name             string
		order            policies.NodeSortPolicy
		available, total func(string) resources.Quantity
		want             float64
	}{
		{"fair, empty node", spread, of(8, 4), of(8, 4), 0},
		{"fair, full node", spread, of(0, 0), of(8, 4), 1},
		{"fair, equal weights", spread, of(4, 4), of(8, 4), 0.25},
		{"fair, other weights", weighted, of(4, 4), of(8, 4), 0.125},
		{"binpacking is 1 minus fair", pack, of(4, 4), of(8, 4), 0.75},
		{"a resource that the node does not have does not count", spread, of(4, 0), of(8, 0), 0.5},
		{"fair, node without any weighted resource", spread, of(0, 0), of(0, 0), 0},
		{"binpacking, node without any weighted resource", pack, of(0, 0), of(0, 0), 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.order.Score(c.available, c.total), c.want)
		})
	}
}

func TestNodeSortPolicy_ScoreIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var order policies.NodeSortPolicy
		less, more := map[string]resources.Quantity{}, map[string]resources.Quantity{}
		total := map[string]resources.Quantity{}
		for _, resource := range rapid.SliceOfNDistinct(name, 1, 4, rapid.ID[string]).Draw(t, "resources") {
			order.Weights = append(order.Weights, policies.Weight{
				Resource: resource, Weight: rapid.Float64Range(0.01, 100).Draw(t, "weight"),
			})
			all := rapid.Int64Range(0, 1<<40).Draw(t, "total")
			a, b := rapid.Int64Range(0, all).Draw(t, "a"), rapid.Int64Range(0, all).Draw(t, "b")
			total[resource] = resources.Quantity(all)
			less[resource], more[resource] = resources.Quantity(min(a, b)), resources.Quantity(max(a, b))
		}
		score := func(n policies.NodeSort, available map[string]resources.Quantity) float64 {
			order.Sort = n
			return order.Score(
				func(r string) resources.Quantity { return available[r] },
				func(r string) resources.Quantity { return total[r] },
			)
		}
		assert.Assert(t, score(policies.NodeSortFair, more) <= score(policies.NodeSortFair, less))
		assert.Assert(t, score(policies.NodeSortBinPacking, more) >= score(policies.NodeSortBinPacking, less))
		assert.Assert(t, 0 <= score(policies.NodeSortFair, more) && score(policies.NodeSortFair, less) <= 1)
	})
}

func BenchmarkCompareQueues(b *testing.B) {
	x := policies.QueueKey{
		Path: "root.a.left", Priority: policies.Pending(1), Share: resources.Fraction(5000, 16000), Pending: 7,
	}
	y := x
	y.Path = "root.a.right" // equal in all fields but the last
	b.ReportAllocs()
	for b.Loop() {
		_ = policies.CompareQueues(&x, &y, policies.QueueSort{})
	}
}
