package affinity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// cluster is a Tracker and, as lists, what it was notified of.
type cluster struct {
	tracker Tracker
	nodes   []*Node
	placed  []allocation
}

type allocation struct {
	ask  *Ask
	tags map[string]string
	node *Node
}

func node(t *testing.T, labels map[string]string) *constraints.Node {
	n, err := constraints.NewNode("n", labels)
	assert.NilError(t, err)
	return n
}

// After any changes, each node is refused for the same reason as when all allocations and nodes are read anew, also
// when some allocations are gone (CON-13 to CON-20).
func TestTracker_RefusalsEqualThoseReadAnew(t *testing.T) {
	seen, scores := map[Refusal]int{}, map[int64]int{}
	for seed := range testscale.Runs(300) {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		c := &cluster{}
		for range 60 {
			c.change(t, rng)
			ask, tags := randomAsk(t, rng)
			check := c.tracker.Check(ask, tags)
			var gone []Gone
			left := slices.DeleteFunc(slices.Clone(c.placed), func(x allocation) bool {
				if rng.IntN(4) > 0 {
					return false
				}
				gone = append(gone, Gone{c.tracker.Kind(x.ask, x.tags), x.node})
				return true
			})
			drawn := map[int]bool{}
			for slot := range check.Drawing {
				drawn[slot] = true
			}
			division := check.AppendDivision(nil, true)
			for _, n := range c.nodes {
				c.agreesWithGroup(t, check, division, n)
				assert.Assert(t, check.NodeScore(n) <= 0 || drawn[n.Slot()],
					"seed %d: a preference draws to a node that is not said", seed)
				want := refusalReadAnew(c.nodes, c.placed, ask, tags, n)
				assert.Equal(t, check.Refusal(n), want, "seed %d", seed)
				assert.Equal(t, check.RefusalWithout(n, gone), refusalReadAnew(c.nodes, left, ask, tags, n), "seed %d, without %d",
					seed, len(gone))
				seen[want]++
				score := scoreReadAnew(c.placed, ask, tags, n)
				assert.Equal(t, check.ScoreWithout(n, nil), score, "seed %d", seed)
				assert.Equal(t, check.NodeScore(n)+check.DomainScore(n), score, "seed %d: the parts are the whole", seed)
				assert.Equal(t, check.ScoreWithout(n, gone), scoreReadAnew(left, ask, tags, n), "seed %d, without %d", seed,
					len(gone))
				scores[score]++
				if !check.Prefers() {
					assert.Equal(t, score, int64(0))
				}
			}
		}
		for _, x := range c.placed {
			c.tracker.Unplace(x.ask, x.tags, x.node)
		}
		assert.Assert(t, !c.tracker.Active())
		c.sweepAll()
		assert.Equal(t, len(c.tracker.kinds)+len(c.tracker.counters)+len(c.tracker.holders)+len(c.tracker.topologies), 0,
			"nothing stays")
	}
	for r := range OthersAntiAffinity + 1 {
		assert.Assert(t, seen[r] > 0, "refusal %d never happened", r)
	}
	assert.Assert(t, len(scores) > 30, "few scores: %v", scores)
}

// agreesWithGroup checks what a search concludes from one node about others with the same labels of the division.
func (c *cluster) agreesWithGroup(t *testing.T, check Check, division []string, n *Node) {
	if !check.DomainAllowed(n, division) || !check.NodeAllowed(n) {
		assert.Assert(t, check.Refusal(n) != Allowed, "left out, and not refused")
	}
	for _, other := range c.nodes {
		if string(other.info.AppendGroup(nil, division)) == string(n.info.AppendGroup(nil, division)) {
			assert.Equal(t, check.DomainScore(n), check.DomainScore(other))
			assert.Equal(t, check.DomainAllowed(n, division), check.DomainAllowed(other, division))
		}
	}
}

func (c *cluster) sweepAll() {
	c.tracker.unused += maxUnused
	c.tracker.Sweep()
}

// change makes one random change.
func (c *cluster) change(t *testing.T, rng *rand.Rand) {
	labels := func() *constraints.Node {
		all := map[string]string{"zone": fmt.Sprint(rng.IntN(3)), "host": fmt.Sprint(rng.IntN(50))}
		if rng.IntN(6) == 0 {
			delete(all, "zone")
		}
		return node(t, all)
	}
	switch k := rng.IntN(8); {
	case len(c.nodes) < 2 || k == 0:
		c.nodes = append(c.nodes, c.tracker.AddNode(labels()))
	case k == 1:
		c.tracker.UpdateNode(c.nodes[rng.IntN(len(c.nodes))], labels())
	case k == 2:
		i := rng.IntN(len(c.nodes))
		n := c.nodes[i]
		c.tracker.RemoveNode(n)
		c.nodes = slices.Delete(c.nodes, i, i+1)
		c.placed = slices.DeleteFunc(c.placed, func(x allocation) bool { return x.node == n })
	case k == 3 && len(c.placed) > 0:
		i := rng.IntN(len(c.placed))
		x := c.placed[i]
		c.tracker.Unplace(x.ask, x.tags, x.node)
		c.placed = slices.Delete(c.placed, i, i+1)
	case k == 4:
		c.sweepAll()
	default:
		ask, tags := randomAsk(t, rng)
		x := allocation{ask, tags, c.nodes[rng.IntN(len(c.nodes))]}
		c.tracker.Place(x.ask, x.tags, x.node)
		c.placed = append(c.placed, x)
	}
}

func randomAsk(t *testing.T, rng *rand.Rand) (*Ask, map[string]string) {
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	tags := map[string]string{budgets.LabelTag + "app": pick("a", "b"), budgets.NamespaceTag: pick("x", "y")}
	key := func() string { return pick(`"topologyKey":"zone",`, `"topologyKey":"host",`) }
	selector := func() string {
		return `"labelSelector":` + pick(`{}`, `{"matchLabels":{"app":"a"}}`, `{"matchLabels":{"app":"b"}}`)
	}
	term := func() string {
		return `{` + key() + selector() + pick("", `,"namespaces":["x"]`, `,"namespaceSelector":{}`) + `}`
	}
	weighted := func() string {
		return `{"weight":` + pick("1", "10", "100") + `,"podAffinityTerm":` + term() + `}`
	}
	anyway := func(key string) string {
		return `{"topologyKey":"` + key + `",` + selector() + `,"maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway"}`
	}
	switch rng.IntN(9) {
	case 6:
		tags[PodAffinityTag] = preferred(pick(weighted(), weighted()+","+weighted()))
	case 7:
		tags[PodAntiAffinityTag] = preferred(pick(weighted(), weighted()+","+weighted()))
	case 8:
		tags[SpreadTag] = `[` + pick(anyway("zone"), anyway("host"), anyway("zone")+","+anyway("host")) + `]`
	case 0:
		tags[PodAffinityTag] = required(pick(term(), term()+","+term()))
	case 1:
		tags[PodAntiAffinityTag] = required(pick(term(), term()+","+term()))
	case 2:
		tags[SpreadTag] = `[{` + key() + selector() + `,"maxSkew":` + pick("1",
			"2") + `,"whenUnsatisfiable":"DoNotSchedule"` + pick("", `,"minDomains":3`) + `}]`
	case 3:
		tags[PortsTag] = `[{"hostPort":80` + pick("", `,"hostIP":"1.1.1.1"`, `,"hostIP":"1.1.1.2"`) + `}]`
	}
	a, err := Parse(tags, nil)
	assert.NilError(t, err)
	return a, tags
}

// scoreReadAnew counts all that preferences select in the domains of n.
func scoreReadAnew(placed []allocation, ask *Ask, tags map[string]string, n *Node) (score int64) {
	count := func(term Term) (selected int64, has bool) {
		value, has := n.info.Label(term.TopologyKey)
		for _, x := range placed {
			if other, ok := x.node.info.Label(term.TopologyKey); ok && has && other == value && term.SelectsTags(x.tags) {
				selected++
			}
		}
		return selected, has
	}
	for _, p := range ask.PreferredAffinityTerms() {
		selected, _ := count(p.Term)
		score += int64(p.Weight) * selected
	}
	for _, p := range ask.PreferredAntiAffinityTerms() {
		selected, _ := count(p.Term)
		score -= int64(p.Weight) * selected
	}
	all := ask.PreferredSpreadConstraints()
	for _, s := range all {
		selected := int64(0)
		value, has := n.info.Label(s.TopologyKey)
		for _, x := range placed {
			lacks := slices.ContainsFunc(all, func(s Spread) bool { _, ok := x.node.info.Label(s.TopologyKey); return !ok })
			other, _ := x.node.info.Label(s.TopologyKey)
			if term := (Term{Namespaces: []string{tags[budgets.NamespaceTag]}, Selector: s.Selector}); !lacks &&
				other == value && term.SelectsTags(x.tags) {
				selected++
			}
		}
		if !has {
			selected = 1 << 20
		}
		score -= selected
	}
	return score
}

func refusalReadAnew(nodes []*Node, placed []allocation, ask *Ask, tags map[string]string, n *Node) Refusal {
	in := func(x *Node, key string) (same, has bool) {
		value, ok := x.info.Label(key)
		other, otherOK := n.info.Label(key)
		return ok && otherOK && value == other, ok
	}
	if slices.ContainsFunc(placed, func(x allocation) bool { return x.node == n && x.ask.PortsConflict(ask) }) {
		return PortTaken
	}
	for _, s := range ask.SpreadConstraints() {
		term, counts := Term{Namespaces: []string{tags[budgets.NamespaceTag]}, Selector: s.Selector}, map[string]int{}
		for _, other := range nodes {
			if value, ok := other.info.Label(s.TopologyKey); ok {
				counts[value] += 0
			}
		}
		for _, x := range placed {
			if value, ok := x.node.info.Label(s.TopologyKey); ok && term.SelectsTags(x.tags) {
				counts[value]++
			}
		}
		fewest := 1 << 30
		for _, count := range counts {
			fewest = min(fewest, count)
		}
		if len(counts) < int(s.MinDomains) {
			fewest = 0
		}
		own, ok := n.info.Label(s.TopologyKey)
		if term.SelectsTags(tags) {
			counts[own]++
		}
		if !ok || counts[own]-fewest > int(s.MaxSkew) {
			return SpreadExceeded
		}
	}
	selected := func(tags map[string]string) bool {
		return !slices.ContainsFunc(ask.AffinityTerms(), func(term Term) bool { return !term.SelectsTags(tags) })
	}
	missing, any := false, false
	for _, term := range ask.AffinityTerms() {
		if _, ok := n.info.Label(term.TopologyKey); !ok {
			return AffinityMissing
		}
		found := false
		for _, x := range placed {
			if same, has := in(x.node, term.TopologyKey); has && selected(x.tags) {
				found, any = found || same, true
			}
		}
		missing = missing || !found
	}
	if missing && (any || !selected(tags)) {
		return AffinityMissing
	}
	for _, term := range ask.AntiAffinityTerms() {
		for _, x := range placed {
			if same, _ := in(x.node, term.TopologyKey); same && term.SelectsTags(x.tags) {
				return AntiAffinity
			}
		}
	}
	for _, x := range placed {
		for _, term := range x.ask.AntiAffinityTerms() {
			if same, _ := in(x.node, term.TopologyKey); same && term.SelectsTags(tags) {
				return OthersAntiAffinity
			}
		}
	}
	return Allowed
}
