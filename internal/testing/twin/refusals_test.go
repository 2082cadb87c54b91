package twin

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// refusal is that a node has refused an ask, or all asks like it (NOD-44 to NOD-47).
type refusal struct {
	ask      *objects.Ask // the ask, or with alike one of them
	node     objects.NodeID
	alike    bool
	active   bool
	backoffs int
	until    time.Time // the end of the back-off
	memory   time.Time // when it is forgotten
}

func (r *refusal) of(ask *objects.Ask) bool {
	if r.alike {
		return sameKind(r.ask, ask)
	}
	return r.ask.App == ask.App && r.ask.Key == ask.Key
}

// sameKind reports whether two asks have equal requests and constraints.
func sameKind(a, b *objects.Ask) bool {
	return a.Amounts.Equal(b.Amounts) && a.RequiredNode() == b.RequiredNode() &&
		constraintsOf(a).Key() == constraintsOf(b).Key()
}

// refuseNode records that the node of w has refused it.
func (t *Twin) refuseNode(w *allocation) {
	if t.noderefusal.Backoff <= 0 {
		return
	}
	t.beginBackoff(w, func(r *refusal) bool { return !r.alike && r.of(w.ask) }, false)
	several := filter(t.refusals, func(r *refusal) bool { return !r.alike && r.node == w.node && sameKind(r.ask, w.ask) })
	if len(several) >= t.noderefusal.Asks {
		t.beginBackoff(w, func(r *refusal) bool { return r.alike && r.of(w.ask) }, true)
		t.unlinkOn(w.node, func(x *allocation) bool { return !t.node(w.node).admits(x.ask) })
	}
}

func (t *Twin) beginBackoff(w *allocation, same func(*refusal) bool, alike bool) {
	i := slices.IndexFunc(t.refusals, func(r *refusal) bool { return r.node == w.node && same(r) })
	if i < 0 {
		i = len(t.refusals)
		t.refusals = append(t.refusals, &refusal{node: w.node, alike: alike})
	}
	r := t.refusals[i]
	if !alike || !r.active {
		r.ask = w.ask
	}
	if r.active {
		return
	}
	length := t.noderefusal.Backoff
	for range r.backoffs {
		length = min(2*length, t.noderefusal.MaxBackoff)
	}
	r.active, r.until = true, t.now.Add(length)
	r.backoffs++
	r.memory = r.until.Add(t.noderefusal.MaxBackoff)
	t.refusalsChanged()
}

// endRefusals ends what is due.
func (t *Twin) endRefusals() {
	for _, r := range t.refusals {
		r.active = r.active && t.now.Before(r.until)
	}
	t.refusals = filter(t.refusals, func(r *refusal) bool { return t.now.Before(r.memory) })
	t.refusalsChanged()
}

// forgetRefusals ends all refusals of a node, which has changed.
func (t *Twin) forgetRefusals(id objects.NodeID) {
	t.refusals = filter(t.refusals, func(r *refusal) bool { return r.node != id })
	t.refusalsChanged()
}

// refusalsChanged tells the nodes, and the asks that wait, what was refused. An ask of its own is in no group with
// others.
func (t *Twin) refusalsChanged() {
	for _, n := range t.nodes {
		n.refusals = filter(t.refusals, func(r *refusal) bool { return r.active && r.node == n.id })
	}
	for _, w := range t.allocations {
		if w.node == "" {
			w.ask = t.withRefusals(w.ask)
		}
	}
}

// withRefusals returns the ask with the nodes that have refused it itself as a constraint, by which groups differ.
func (t *Twin) withRefusals(ask *objects.Ask) *objects.Ask {
	var nodes []string
	for _, r := range t.refusals {
		if r.active && !r.alike && r.of(ask) {
			nodes = append(nodes, string(r.node))
		}
	}
	slices.Sort(nodes)
	if slices.Equal(nodes, ask.Constraints().Refused()) {
		return ask
	}
	return ask.WithoutNodes(nodes)
}

// refuses reports whether n has refused an ask, or asks like it.
func (n *node) refuses(ask *objects.Ask) bool {
	return slices.ContainsFunc(n.refusals, func(r *refusal) bool { return r.of(ask) })
}

// emitNodeChanged emits that a node has changed, which ends its refusals.
func (t *Twin) emitNodeChanged(e scheduler.NodeChanged) {
	t.emit(e)
	t.forgetRefusals(e.Node)
}

// onlyRefuses reports whether nothing but a refusal keeps n from an ask.
func (n *node) onlyRefuses(ask *objects.Ask) bool {
	return n.refuses(ask) && n.admitsBut(ask)
}
