package affinity

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// Tracker counts, for each constraint in use and each topology domain, the allocations that the constraint selects. The
// zero value tracks nothing. Its owner notifies it of every node and of every allocation on a node, in any order.
//
// A kind of allocation that occurs for the first time is matched with every constraint, and a constraint that occurs
// for the first time with every kind; a further allocation of a kind changes the counts that select it, and nothing
// else.
type Tracker struct {
	nodes      []*Node // by slot; nil: the slot is free
	freeSlots  []int
	topologies map[string]*topology
	freeKeys   []int // free indexes of topologies
	counters   map[string]*counter
	scopes     map[string]*spreadScope
	holders    map[string]*holder
	kinds      map[string]*Kind
	unused     int // kinds without users
	needed     int // users of kinds with constraints
}

// Node is a node of a Tracker.
type Node struct {
	info    *constraints.Node
	slot    int
	domains []int32 // by the index of the topology; noDomain: it lacks the label
	kinds   map[*Kind]int32
	ports   []usedPort
}

// noDomain stands for the domain of a node that lacks the label of a topology, or that does not count.
const noDomain = -1

type usedPort struct {
	Port
	users int32
}

// Kind describes allocations that are equal for all constraints: in namespace, labels, and constraints of their own.
type Kind struct {
	key       string
	namespace string
	labels    map[string]string
	ask       *Ask // nil: without constraints
	users     int  // allocations on nodes, and asks that were acquired

	selectedBy []*counter // counts that select it
	refusedBy  []*holder  // anti-affinity of allocations that selects it

	affinity     []*counter // one for each topology key of its terms; each counts allocations that match every term
	antiAffinity []*counter
	spread       []spreadCounter
	holds        []*holder // its own anti-affinity, for others
	preferences  []preference
	selectsSelf  bool // its affinity terms all select itself
}

type spreadCounter struct {
	*counter
	*Spread
}

// Slot returns the number of n among the nodes of its Tracker, from 0 on. The number of a removed node is used again.
func (n *Node) Slot() int { return n.slot }

// Active reports whether an ask or an allocation has constraints, so that allocations must be tracked.
func (t *Tracker) Active() bool { return t.needed > 0 }

// Reset forgets everything. What it returned before is not valid any more.
func (t *Tracker) Reset() { *t = Tracker{} }

// AddNode starts to track a node without allocations.
func (t *Tracker) AddNode(info *constraints.Node) *Node {
	n := &Node{info: info, kinds: map[*Kind]int32{}}
	if last := len(t.freeSlots) - 1; last >= 0 {
		n.slot, t.freeSlots = t.freeSlots[last], t.freeSlots[:last]
	} else {
		n.slot = len(t.nodes)
		t.nodes = append(t.nodes, nil)
	}
	t.nodes[n.slot] = n
	t.locate(n)
	return n
}

// RemoveNode ends the tracking of n and of the allocations on it, whose kinds have one user less for each.
func (t *Tracker) RemoveNode(n *Node) {
	t.dislocate(n)
	for k, count := range n.kinds {
		t.dropUsers(k, int(count))
	}
	t.nodes[n.slot] = nil
	t.freeSlots = append(t.freeSlots, n.slot)
}

// UpdateNode records other labels and taints of n.
func (t *Tracker) UpdateNode(n *Node, info *constraints.Node) {
	t.dislocate(n)
	n.info = info
	t.locate(n)
}

// locate finds the domains of n, and counts it and the allocations on it there.
func (t *Tracker) locate(n *Node) {
	n.domains = n.domains[:0]
	for _, top := range t.topologies {
		n.enter(top)
	}
	for _, s := range t.scopes {
		s.addNode(n)
	}
	t.countKinds(n, 1)
}

// dislocate reverts locate.
func (t *Tracker) dislocate(n *Node) {
	t.countKinds(n, -1)
	for _, s := range t.scopes {
		s.removeNode(n)
	}
	for _, top := range t.topologies {
		n.leave(top)
	}
}

func (t *Tracker) countKinds(n *Node, sign int32) {
	for k, count := range n.kinds {
		k.count(n, sign*count)
	}
}

// Place counts an allocation with constraints a (nil: none) and tags on n. matters reports whether an ask may be placed
// now that could not be before: most allocations only close domains, but one that affinity or spread selects may open
// some.
func (t *Tracker) Place(a *Ask, tags map[string]string, n *Node) (matters bool) {
	k := t.Acquire(a, tags)
	n.kinds[k]++
	k.count(n, 1)
	n.usePorts(k, 1)
	for _, c := range k.selectedBy {
		matters = matters || c.opens
	}
	return matters
}

// Unplace reverts Place.
func (t *Tracker) Unplace(a *Ask, tags map[string]string, n *Node) {
	k := t.kindOf(a, tags)
	n.kinds[k]--
	if n.kinds[k] == 0 {
		delete(n.kinds, k)
	}
	k.count(n, -1)
	n.usePorts(k, -1)
	t.dropUsers(k, 1)
}

// count adds a number of allocations of k on n to the counters that select k, and to the anti-affinity that k holds.
func (k *Kind) count(n *Node, number int32) {
	for _, c := range k.selectedBy {
		c.add(c.domainOf(n), number)
	}
	for _, h := range k.holds {
		if d := n.domain(h.topology); d != noDomain {
			h.counts.add(d, number)
		}
	}
}

func (n *Node) usePorts(k *Kind, users int32) {
	if k.ask == nil {
		return
	}
	for _, port := range k.ask.content.Ports {
		i := slices.IndexFunc(n.ports, func(u usedPort) bool { return u.Port == port })
		if i < 0 {
			i = len(n.ports)
			n.ports = append(n.ports, usedPort{Port: port})
		}
		n.ports[i].users += users
		if n.ports[i].users == 0 {
			n.ports = slices.Delete(n.ports, i, i+1)
		}
	}
}

// Acquire makes an ask with constraints a (nil: none) and tags a user of its kind, until Release. From then on the
// counts of its constraints are kept.
func (t *Tracker) Acquire(a *Ask, tags map[string]string) *Kind {
	k := t.kindOf(a, tags)
	if k.users == 0 {
		t.unused--
	}
	k.users++
	if k.ask != nil {
		t.needed++
	}
	return k
}

// Release reverts Acquire.
func (t *Tracker) Release(a *Ask, tags map[string]string) { t.dropUsers(t.kindOf(a, tags), 1) }

func (t *Tracker) dropUsers(k *Kind, users int) {
	if k.ask != nil {
		t.needed -= users
	}
	k.users -= users
	if k.users == 0 {
		t.unused++
	}
}

// maxUnused bounds the kinds without users that are kept: the next ask may be of the same kind.
const maxUnused = 256

// Sweep forgets kinds without users, and the constraints that only they have, if there are many. Kinds without users
// that were returned before are not valid any more; some reports whether there were any.
func (t *Tracker) Sweep() (some bool) {
	if t.unused <= maxUnused {
		return false
	}
	for key, k := range t.kinds {
		if k.users == 0 {
			delete(t.kinds, key)
			t.forget(k)
		}
	}
	t.unused = 0
	return true
}

// kindOf returns the kind of allocations with constraints a and tags.
func (t *Tracker) kindOf(a *Ask, tags map[string]string) *Kind {
	var key, namespace string
	var labels map[string]string
	if a.Key() != "" {
		key = a.key
	} else {
		a, namespace, labels = nil, budgets.NamespaceOf(tags), labelsOf(tags)
		key = identity(namespace, labels)
	}
	k := t.kinds[key]
	if k != nil {
		return k
	}
	if a != nil {
		namespace, labels = a.content.Namespace, a.content.Labels
	}
	k = &Kind{key: key, namespace: namespace, labels: labels, ask: a}
	if t.kinds == nil {
		t.kinds = map[string]*Kind{}
	}
	t.kinds[key] = k
	t.unused++
	for _, c := range t.counters {
		if c.selects(k) {
			k.selectedBy = append(k.selectedBy, c)
		}
	}
	for _, h := range t.holders {
		if h.term.selects(namespace, labels) {
			k.refusedBy = append(k.refusedBy, h)
		}
	}
	if a != nil {
		t.resolve(k)
	}
	return k
}
