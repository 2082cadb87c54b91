package nodeselection

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// newNodes returns a partition without nodes, with one leaf, root.a, and its Nodes.
func newNodes(t testing.TB) (*objects.Partition, *Nodes) {
	t.Helper()
	p := objects.NewPartition(configs.Partition{
		NodeSortPolicy: policies.DefaultNodeSortPolicy(),
		Root: configs.Queue{Name: "root", Parent: true, Settings: configs.DefaultSettings(),
			SubmitACL: security.Everyone(), Children: []configs.Queue{{Name: "a", Settings: configs.DefaultSettings()}}},
	})
	return p, New(p, 0)
}

func refresh(p *objects.Partition, nodes *Nodes) {
	p.RefreshShares()
	nodes.Refresh()
}

// preferringCluster is a partition with nodes in zones and racks, and asks with preferences that come, are placed where
// they prefer, and go.
type preferringCluster struct {
	t      *testing.T
	rng    *rand.Rand
	p      *objects.Partition
	nodes  *Nodes
	asks   int
	placed []objects.AllocationKey
	former []map[string]string // tags of the last asks
	apps   int                 // how many labels there are to select
	kinds  int                 // how many of the last asks give their tags to others
}

// app is one of the labels.
func (c *preferringCluster) app() string { return string(rune('a' + c.rng.IntN(max(c.apps, 2)))) }

func (c *preferringCluster) pick(all ...string) string { return all[c.rng.IntN(len(all))] }

func (c *preferringCluster) attributes(i int) map[string]string {
	out := map[string]string{"host": fmt.Sprint(i), "zone": c.pick("a", "b", "c"), "rack": fmt.Sprint(c.rng.IntN(8))}
	if c.rng.IntN(9) == 0 {
		delete(out, c.pick("host", "zone", "rack"))
	}
	if c.rng.IntN(9) == 0 {
		out[constraints.TaintsAttribute] = `[{"key":"old","effect":"PreferNoSchedule"}]`
	}
	return out
}

// tags are those of an ask with a mix of preferences and constraints.
func (c *preferringCluster) tags() map[string]string {
	tags := map[string]string{"kubernetes.io/label/app": c.app()}
	key := func() string { return `"topologyKey":"` + c.pick("host", "zone", "rack") + `"` }
	selector := func() string { return `"labelSelector":{"matchLabels":{"app":"` + c.app() + `"}}` }
	term := func() string {
		return `{"weight":` + c.pick("1", "7", "100") + `,"podAffinityTerm":{` + key() + `,` + selector() + `}}`
	}
	required := `"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"` + c.pick("host",
		"rack") + `",` + selector() + `}]`
	preferred := func() string {
		return `"preferredDuringSchedulingIgnoredDuringExecution":[` + term() + `,` + term() + `]`
	}
	for range c.rng.IntN(3) {
		switch c.rng.IntN(5) {
		case 0:
			tags[constraints.AffinityTag] = `{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":` + c.pick("1",
				"50") + `,"preference":{"matchExpressions":[{"key":"zone","operator":"In","values":["` + c.pick("a",
				"b") + `"]}]}}]}`
		case 1:
			tags[constraints.TolerationsTag] = `[{"key":"old","operator":"Exists"}]`
		case 2:
			tags[affinity.PodAffinityTag] = c.pick(`{`+preferred()+`}`, `{`+preferred()+`}`, `{`+required+`,`+preferred()+`}`)
		case 3:
			tags[affinity.PodAntiAffinityTag] = c.pick(`{`+preferred()+`}`, `{`+required+`,`+preferred()+`}`, `{`+required+`}`)
		case 4:
			tags[affinity.SpreadTag] = `[{` + key() + `,"maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway",` + selector() +
				`},{"topologyKey":"` + c.pick("zone", "zone",
				"host") + `","maxSkew":2,"whenUnsatisfiable":"DoNotSchedule",` + selector() + `}]`
		}
	}
	return tags
}

// ask adds an ask.
func (c *preferringCluster) ask() *objects.Allocation {
	tags := c.tags()
	if len(c.former) > 0 && c.rng.IntN(2) == 0 { // of a known kind
		tags = c.former[c.rng.IntN(len(c.former))]
	}
	c.former = append(c.former, tags)
	if len(c.former) > max(c.kinds, 4) {
		c.former = c.former[1:]
	}
	return c.askWith(tags, resources.Quantity(1+c.rng.IntN(3)))
}

// askWith adds an ask with tags.
func (c *preferringCluster) askWith(tags map[string]string, vcore resources.Quantity) *objects.Allocation {
	nodes, err := constraints.Parse(tags)
	assert.NilError(c.t, err)
	around, err := affinity.Parse(tags, nodes)
	assert.NilError(c.t, err)
	details := objects.AskDetails{Tags: tags}
	if nodes != nil || around != nil {
		details.Constraints = &objects.AskConstraints{Nodes: nodes, Affinity: around}
	}
	c.asks++
	amounts := resources.FromMap(map[string]resources.Quantity{"vcore": vcore})
	x, err := c.p.AddAsk(&objects.Ask{Key: objects.AllocationKey(fmt.Sprint("k", c.asks)), App: "x", Amounts: amounts,
		Details: objects.NewAskDetails(details)}, time.Unix(0, 0))
	assert.NilError(c.t, err)
	return x
}

// bestByScan scores every node that takes x, in node order.
func (c *preferringCluster) bestByScan(x *objects.Allocation) (best *objects.Node, score int64) {
	check := c.nodes.For(x)
	for n := range c.p.FittingNodes(x.Shape()) {
		if s := check.score(n); check.Allows(n) && (best == nil || s > score) {
			best, score = n, s
		}
	}
	return best, score
}

// The node that a search finds is the best of all that it could have looked at, whatever has changed; and the nodes
// behind it follow by their scores (CON-28, CON-34).
func TestPreferredNodes_AgreeWithScan(t *testing.T) {
	scores, own := map[int64]bool{}, 0
	for seed := range testscale.Runs(120) {
		c := &preferringCluster{t: t, rng: rand.New(rand.NewPCG(uint64(seed), 70))}
		c.p, c.nodes = newNodes(t)
		assert.NilError(t, c.p.AddApplication("x", security.User{Name: "ann"}, "root.a", nil, time.Unix(0, 0)))
		// Searches of some runs look at one node or two before their kinds have nodes of their own, of which there are few.
		c.apps, c.kinds, c.nodes.maxRefused = []int{2, 20}[seed%2], []int{4, 60}[seed/2%2],
			[]int{0, 1, defaultRefusals}[seed/4%3]
		nodes := 3 + c.rng.IntN(60)
		for i := range nodes {
			c.addNode(i)
		}
		for step := range 80 {
			c.change(nodes)
			x := c.ask()
			refresh(c.p, c.nodes)
			check := c.nodes.For(x)
			want, score := c.bestByScan(x)
			got := check.First()
			assert.Assert(t, got == want, "seed %d, step %d: %v", seed, step, x.Ask().Tags())
			behind := slices.Collect(check.Nodes())
			assert.Assert(t, slices.Equal(behind, slices.Collect(check.Allowed(c.p.FittingNodes(x.Shape())))),
				"seed %d, step %d", seed, step)
			for i := 1; i < len(behind) && check.prefers; i++ {
				assert.Assert(t, check.score(behind[i-1]) >= check.score(behind[i]))
			}
			if want == nil {
				c.p.Release(x.Key(), time.Unix(0, 0))
				continue
			}
			scores[score] = true
			assert.NilError(t, c.p.Place(x, want, time.Unix(0, 0)))
			c.placed = append(c.placed, x.Key())
		}
		assert.NilError(t, c.p.Check())
		own += len(c.nodes.grouped.own)
	}
	assert.Assert(t, own > 50, "few kinds have nodes of their own: %d", own)
	assert.Assert(t, len(scores) > 50, "few scores: %d", len(scores))
}

// However many kinds take turns, a search looks at the groups of nodes, at the nodes that the kind has allocations on,
// and at few others; and no kind makes groups of its own.
func TestPreferredNodes_ManyKindsShareGroups(t *testing.T) {
	term := func(of, key, app string) string {
		return `{"` + of + `DuringSchedulingIgnoredDuringExecution":[{"weight":3,"podAffinityTerm":{"topologyKey":"` + key +
			`","labelSelector":{"matchLabels":{"app":"` + app + `"}}}}]}`
	}
	for name, tags := range map[string]func(app string) map[string]string{
		"spread over zones": func(app string) map[string]string {
			return map[string]string{affinity.SpreadTag: `[{"topologyKey":"zone","maxSkew":1,` +
				`"whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"` + app + `"}}}]`}
		},
		"spread over nodes": func(app string) map[string]string {
			return map[string]string{affinity.SpreadTag: `[{"topologyKey":"host","maxSkew":1,` +
				`"whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"` + app + `"}}}]`}
		},
		"anti-affinity": func(app string) map[string]string {
			return map[string]string{affinity.PodAntiAffinityTag: term("preferred", "host", app)}
		},
		"affinity": func(app string) map[string]string {
			return map[string]string{affinity.PodAffinityTag: term("preferred", "host", app)}
		},
		"a mix, with node affinity of its own": func(app string) map[string]string {
			return map[string]string{
				constraints.AffinityTag: `{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,` +
					`"preference":{"matchExpressions":[{"key":"pool","operator":"In","values":["` + app + `"]}]}}]}`,
				affinity.PodAffinityTag:     term("preferred", "zone", app),
				affinity.PodAntiAffinityTag: term("preferred", "host", app),
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			const kinds, nodes, asks = 200, 400, 1000
			c := &preferringCluster{t: t, rng: rand.New(rand.NewPCG(1, 70))}
			c.p, c.nodes = newNodes(t)
			assert.NilError(t, c.p.AddApplication("x", security.User{Name: "ann"}, "root.a", nil, time.Unix(0, 0)))
			for i := range nodes {
				attributes := map[string]string{"host": fmt.Sprint(i), "zone": fmt.Sprint(i % 3), "pool": fmt.Sprint(i % 10)}
				assert.NilError(t,
					c.p.AddNode(objects.NodeID(fmt.Sprint("n", i)), resources.FromMap(map[string]resources.Quantity{"vcore": 8}),
						attributes, true))
			}
			grouped := &c.nodes.grouped
			var groups []*nodeGroup
			for i := range asks {
				kind := i % kinds
				tags := tags(fmt.Sprint(kind))
				tags["kubernetes.io/label/app"] = fmt.Sprint(kind)
				x := c.askWith(tags, 1)
				refresh(c.p, c.nodes)
				want, _ := c.bestByScan(x)
				check := c.nodes.For(x)
				got := check.First()
				assert.Assert(t, got == want, "ask %d", i)
				drawn, drawing := check.bestDrawing()
				_, looked := grouped.shared[0].first(&check, drawn)
				allowance := len(grouped.shared[0].groups)*2 + i/kinds + 1
				assert.Assert(t, drawing+looked <= allowance, "ask %d: looked at %d groups and nodes, not %d", i, drawing+looked,
					allowance)
				if groups == nil {
					groups = grouped.shared[0].groups
				}
				assert.NilError(t, c.p.Place(x, got, time.Unix(0, 0)))
			}
			assert.Equal(t, len(grouped.own), 0)
			assert.Equal(t, len(grouped.shared), 1)
			assert.Assert(t, grouped.shared[0].groups[0] == groups[0], "the groups were made anew")
		})
	}
}

// Kinds that take turns do not take the nodes of their own from each other; a kind that is not searched for long loses
// them.
func TestPreferredNodes_FewKindsHaveNodesOfTheirOwn(t *testing.T) {
	c := &preferringCluster{t: t, rng: rand.New(rand.NewPCG(1, 70))}
	c.p, c.nodes = newNodes(t)
	assert.NilError(t, c.p.AddApplication("x", security.User{Name: "ann"}, "root.a", nil, time.Unix(0, 0)))
	for i := range 5 {
		c.addNode(i)
	}
	c.nodes.maxRefused = 0 // each search looks at more
	var asks []*objects.Allocation
	for i := range 2 * maxOwn {
		asks = append(asks,
			c.askWith(map[string]string{"kubernetes.io/label/app": fmt.Sprint(i),
				affinity.SpreadTag: `[{"topologyKey":"host","maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway","labelSelector":{}}]`},
				1))
	}
	refresh(c.p, c.nodes)
	search := func(x *objects.Allocation) { c.nodes.For(x).First() }
	own := &c.nodes.grouped.own
	var first []*groupedNodes
	for range 10 {
		for _, x := range asks {
			search(x)
		}
		if first == nil {
			first = slices.Clone(*own)
		}
	}
	assert.Equal(t, len(first), maxOwn)
	assert.Assert(t, slices.Equal(*own, first), "others took their places")
	for range longUnused {
		search(asks[0])
	}
	search(asks[len(asks)-1])
	assert.Assert(t, !slices.Equal(*own, first), "nodes that nothing searches are kept")
	assert.Equal(t, len(*own), maxOwn)
}

// A search by turns for many kinds of asks, each of which spreads its own label over the nodes.
func BenchmarkPreferredNodes_Kinds(b *testing.B) {
	for _, kinds := range []int{1, 10, 100, 500, 2000} {
		b.Run(fmt.Sprint(kinds), func(b *testing.B) {
			p, nodes := newNodes(b)
			assert.NilError(b, p.AddApplication("x", security.User{Name: "ann"}, "root.a", nil, time.Unix(0, 0)))
			for i := range 5000 {
				assert.NilError(b,
					p.AddNode(objects.NodeID(fmt.Sprint("n", i)), resources.FromMap(map[string]resources.Quantity{"vcore": 1000}),
						map[string]string{"host": fmt.Sprint(i)}, true))
			}
			refresh(p, nodes)
			i, constraints := 0, make([]*objects.AskConstraints, kinds)
			for b.Loop() {
				kind := i % kinds
				app := fmt.Sprint(kind)
				tags := map[string]string{"kubernetes.io/label/app": app,
					affinity.SpreadTag: `[{"topologyKey":"host","maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway",` +
						`"labelSelector":{"matchLabels":{"app":"` + app + `"}}}]`}
				if constraints[kind] == nil {
					around, err := affinity.Parse(tags, nil)
					assert.NilError(b, err)
					constraints[kind] = &objects.AskConstraints{Affinity: around}
				}
				x, err := p.AddAsk(&objects.Ask{Key: objects.AllocationKey(fmt.Sprint("k", i)), App: "x",
					Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1}),
					Details: objects.NewAskDetails(objects.AskDetails{Tags: tags, Constraints: constraints[kind]})}, time.Unix(0, 0))
				assert.NilError(b, err)
				refresh(p, nodes)
				assert.NilError(b, p.Place(x, nodes.For(x).First(), time.Unix(0, 0)))
				i++
			}
		})
	}
}

func (c *preferringCluster) addNode(i int) {
	total := resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(4 + c.rng.IntN(12))})
	assert.NilError(c.t, c.p.AddNode(objects.NodeID(fmt.Sprint("n", i)), total, c.attributes(i), c.rng.IntN(8) > 0))
}

// change makes a random change besides placements.
func (c *preferringCluster) change(nodes int) {
	i := c.rng.IntN(nodes)
	id := objects.NodeID(fmt.Sprint("n", i))
	n, known := c.p.Node(id)
	switch k := c.rng.IntN(12); {
	case !known:
		c.addNode(i)
	case k == 0:
		_, err := c.p.RemoveNode(id, time.Unix(0, 0))
		assert.NilError(c.t, err)
	case k == 1:
		assert.NilError(c.t, c.p.SetAttributes(id, c.attributes(i)))
	case k == 2:
		c.p.SetSchedulable(n, !n.Schedulable())
	case k < 6 && len(c.placed) > 0:
		j := c.rng.IntN(len(c.placed))
		c.p.Release(c.placed[j], time.Unix(0, 0))
		c.placed = slices.Delete(c.placed, j, j+1)
	}
}

// An abbreviated key is smaller only if the node is before the other, however far from 0 the scores are.
func TestGroupedNodes_AbbreviationsAgreeWithTheOrder(t *testing.T) {
	k, rng := newGroupedNodes(nil, &searchKind{prefers: true}), rand.New(rand.NewPCG(1, 70))
	scores := []int64{0, 1, -1, 100, 1<<15 - 1, 1 << 15, 1<<15 + 1, -(1 << 15), -(1 << 15) + 1, -(1 << 15) - 1, -(1 << 20),
		-(1 << 20) - 1, 1 << 40, -(1 << 40)}
	p, _ := newNodes(t)
	vcores := func(n int) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
	}
	const some = 60
	for i := range some {
		id := fmt.Sprint(i)
		assert.NilError(t, p.AddNode(objects.NodeID(id), vcores(1000), nil, true))
		assert.NilError(t, p.AddForeign(objects.Foreign{Key: objects.AllocationKey(id), Node: objects.NodeID(id),
			Amounts: vcores(rng.IntN(1000))}))
		k.at = append(k.at, nodePosition{score: scores[rng.IntN(len(scores))]})
	}
	nodes, decided := p.Nodes(), 0
	for _, a := range nodes {
		for _, b := range nodes {
			if k.order.Abbreviate(a) < k.order.Abbreviate(b) {
				decided++
				assert.Assert(t, k.order.Compare(a, b) < 0, "scores %d and %d", k.at[a.ListIndex()].score,
					k.at[b.ListIndex()].score)
			}
		}
	}
	assert.Assert(t, decided > len(nodes)*len(nodes)/3, "%d", decided)
}

// Allocations that are taken to be gone do not count for preferences (CON-24, CON-31).
func TestPreferredNodes_WithoutWhatIsGone(t *testing.T) {
	now := time.Unix(0, 0)
	c := &preferringCluster{t: t, rng: rand.New(rand.NewPCG(1, 1))}
	c.p, c.nodes = newNodes(t)
	assert.NilError(t, c.p.AddApplication("x", security.User{Name: "ann"}, "root.a", nil, now))
	one := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
	for _, id := range []objects.NodeID{"n1", "n2", "n3"} {
		assert.NilError(t,
			c.p.AddNode(id, resources.FromMap(map[string]resources.Quantity{"vcore": 9}), map[string]string{"host": string(id)},
				true))
	}
	tags := map[string]string{"kubernetes.io/label/app": "a",
		affinity.PodAffinityTag: `{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,` +
			`"podAffinityTerm":{"topologyKey":"host","labelSelector":{"matchLabels":{"app":"a"}}}}]}`}
	around, err := affinity.Parse(tags, nil)
	assert.NilError(t, err)
	details := objects.NewAskDetails(objects.AskDetails{Tags: tags,
		Constraints: &objects.AskConstraints{Affinity: around}})
	var there []*objects.Allocation
	for i, node := range []objects.NodeID{"n2", "n3", "n3"} {
		key := objects.AllocationKey(fmt.Sprint("r", i))
		_, err := c.p.AddReported(&objects.Ask{Key: key, App: "x", Amounts: one, Details: details}, node, now)
		assert.NilError(t, err)
		y, _ := c.p.Allocation(key)
		there = append(there, y)
	}
	x, err := c.p.AddAsk(&objects.Ask{Key: "k", App: "x", Amounts: one, Details: details}, now)
	assert.NilError(t, err)
	refresh(c.p, c.nodes)
	first := func(gone ...*objects.Allocation) objects.NodeID {
		return c.nodes.For(x).Without(gone).First().ID()
	}
	assert.Equal(t, first(), objects.NodeID("n3"))
	assert.Equal(t, first(there[1], there[2]), objects.NodeID("n2"))
	assert.Equal(t, first(there...), objects.NodeID("n1"), "node order decides")
}

// When the last allocation of a group ends, its pod affinity allows nodes of which nothing has changed (CON-17).
func TestPreferredNodes_AllowedAgainWithoutAChange(t *testing.T) {
	now := time.Unix(0, 0)
	p, nodes := newNodes(t)
	assert.NilError(t, p.AddApplication("x", security.User{Name: "ann"}, "root.a", nil, now))
	amounts := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n})
	}
	for _, id := range []objects.NodeID{"n1", "n2", "n3"} {
		assert.NilError(t, p.AddNode(id, amounts(9), map[string]string{"host": string(id)}, true))
	}
	tags := map[string]string{
		"kubernetes.io/label/app": "a",
		affinity.PodAffinityTag: `{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"host",` +
			`"labelSelector":{"matchLabels":{"app":"a"}}}]}`,
		constraints.AffinityTag: `{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,` +
			`"preference":{"matchExpressions":[{"key":"host","operator":"In","values":["n2"]}]}}]}`,
	}
	selector, err := constraints.Parse(tags)
	assert.NilError(t, err)
	around, err := affinity.Parse(tags, selector)
	assert.NilError(t, err)
	details := objects.NewAskDetails(objects.AskDetails{Tags: tags,
		Constraints: &objects.AskConstraints{Nodes: selector, Affinity: around}})
	_, err = p.AddReported(&objects.Ask{Key: "last", App: "x", Amounts: amounts(1), Details: details}, "n1", now)
	assert.NilError(t, err)
	x, err := p.AddAsk(&objects.Ask{Key: "k", App: "x", Amounts: amounts(1), Details: details}, now)
	assert.NilError(t, err)
	first := func() objects.NodeID {
		refresh(p, nodes)
		return nodes.For(x).First().ID()
	}
	nodes.maxRefused = 0
	for range 2 { // then the kind has nodes of its own
		assert.Equal(t, first(), objects.NodeID("n1"), "beside the one that runs")
	}
	_, ok := p.Release("last", now)
	assert.Assert(t, ok)
	assert.Equal(t, first(), objects.NodeID("n2"), "anywhere, so where it prefers")
}

// A placement does not make a search look at other nodes anew, and asks without preferences leave nothing to be kept.
func TestPreferredNodes_KeptOnlyForPreferences(t *testing.T) {
	c := &preferringCluster{t: t, rng: rand.New(rand.NewPCG(1, 1))}
	c.p, c.nodes = newNodes(t)
	assert.NilError(t, c.p.AddApplication("x", security.User{Name: "ann"}, "root.a", nil, time.Unix(0, 0)))
	for i := range 20 {
		assert.NilError(t,
			c.p.AddNode(objects.NodeID(fmt.Sprint("n", i)), resources.FromMap(map[string]resources.Quantity{"vcore": 9}),
				map[string]string{"host": fmt.Sprint(i)}, true))
	}
	grouped := &c.nodes.grouped
	kept := func() int { return len(grouped.shared) + len(grouped.own) }
	place := func(tags map[string]string) {
		t.Helper()
		nodes, err := constraints.Parse(tags)
		assert.NilError(t, err)
		c.asks++
		ask := &objects.Ask{Key: objects.AllocationKey(fmt.Sprint("p", c.asks)), App: "x",
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1}),
			Details: objects.NewAskDetails(objects.AskDetails{Tags: tags})}
		if nodes != nil {
			ask = ask.WithConstraints(&objects.AskConstraints{Nodes: nodes})
		}
		x, err := c.p.AddAsk(ask, time.Unix(0, 0))
		assert.NilError(t, err)
		refresh(c.p, c.nodes)
		assert.NilError(t, c.p.Place(x, c.nodes.For(x).First(), time.Unix(0, 0)))
	}
	place(nil)
	place(map[string]string{constraints.SelectorTag: `{"host":"3"}`})
	assert.Equal(t, kept(), 0)
	prefers := map[string]string{constraints.AffinityTag: `{"preferredDuringSchedulingIgnoredDuringExecution":[{` +
		`"weight":1,"preference":{"matchExpressions":[{"key":"host","operator":"Exists"}]}}]}`}
	place(prefers)
	groups := grouped.shared[0].groups
	place(prefers)
	assert.Equal(t, kept(), 1)
	assert.Assert(t, grouped.shared[0].groups[0] == groups[0], "it was filled anew")
	assert.NilError(t,
		c.p.SetAttributes("n5",
			map[string]string{constraints.TaintsAttribute: `[{"key":"old","effect":"PreferNoSchedule"}]`}))
	place(nil)
	assert.Equal(t, kept(), 2)
	_, err := c.p.RemoveNode("n5", time.Unix(0, 0))
	assert.NilError(t, err)
	assert.Assert(t, c.nodes.softTainted == nil)
}
