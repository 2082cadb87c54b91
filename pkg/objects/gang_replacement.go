package objects

import (
	"slices"
	"time"
)

// Replacement: a real ask takes the place of a placeholder of its task group. The release of the placeholder is
// ordered; until it is confirmed, the placeholder holds the resources in all accounts, and the ask is pending. Then the
// ask is bound in the same command, on the node of the placeholder or on another node that was held for it. The ask
// requests no more than the placeholder, so no quota and no limit is checked again: queues, limits and the node of the
// placeholder count one of the two at all times (GAN-7).

// endingPlaceholder says why and for what the release of a placeholder is ordered.
type endingPlaceholder struct {
	timedOut bool        // nothing replaces it
	by       *Allocation // the pending ask that replaces it; nil: none, or no longer
	node     *Node       // where by will be placed
	replaced bool        // by was bound in its place
}

// Replace orders that x replaces placeholder y, and is placed on n. The resources of another node than that of y are
// held for x. Requires: x waits for a placeholder of the task group of y, requests no more than y, and fits n, if n is
// another node; y is bound and not ending.
func (l GangLedger) Replace(x, y *Allocation, n *Node) {
	l.p.gangs.ending[y] = endingPlaceholder{by: x, node: n}
	l.p.gangs.replacing[x] = y
	y.app.gang.CountEnding(1)
	if n != y.node {
		l.hold(x, n, 1)
	}
	l.p.journal.post(Change{Kind: EndOrdered, Ask: y})
	l.p.journal.post(Change{Kind: ReplacementAdded, Ask: x})
}

// TimeOut orders the release of placeholder y, which nothing replaces. Requires: y is not ending.
func (l GangLedger) TimeOut(y *Allocation) {
	l.p.gangs.ending[y] = endingPlaceholder{timedOut: true}
	y.app.gang.CountEnding(1)
	l.p.journal.post(Change{Kind: EndOrdered, Ask: y})
	l.countTimeOut(y)
	l.p.reindex(y.app)
}

// unlink ends the replacement by x, if there is one: x is an ordinary pending ask again, and the placeholder ends
// without it (GAN-8).
func (l GangLedger) unlink(x *Allocation) {
	y := l.Replaces(x)
	if y == nil {
		return
	}
	mark := l.p.gangs.ending[y]
	delete(l.p.gangs.replacing, x)
	if mark.node != y.node {
		l.hold(x, mark.node, -1)
		l.p.journal.post(Change{Kind: NodeFreed, Node: mark.node})
	}
	l.p.gangs.ending[y] = endingPlaceholder{}
	l.p.journal.post(Change{Kind: ReplacementEnded, Ask: x})
}

// unlinkPlaceholder is unlink for the ask that replaces y.
func (l GangLedger) unlinkPlaceholder(y *Allocation) {
	if x := l.p.gangs.ending[y].by; x != nil {
		l.unlink(x)
	}
}

// UnlinkAll ends all replacements of an application.
func (l GangLedger) UnlinkAll(a *Application) {
	if a.gang == nil || a.gang.Ending() == 0 {
		return
	}
	for _, x := range a.allocations.sorted() {
		l.unlink(x)
	}
}

// unlinkOn ends the replacements by asks that were to be placed on n, and for which ends returns true.
func (l GangLedger) unlinkOn(n *Node, ends func(*Allocation) bool) {
	if len(l.p.gangs.replacing) == 0 {
		return
	}
	for _, y := range n.allocations.sorted() {
		if mark := l.p.gangs.ending[y]; mark.by != nil && mark.node == n && ends(mark.by) {
			l.unlink(mark.by)
		}
	}
	for _, x := range slices.Clone(n.extra.replacing) {
		if ends(x) {
			l.unlink(x)
		}
	}
}

// takeReplacement is the ask that is bound in the place of y, whose release is confirmed, and its node; nil: none. The
// caller must bind it after it has removed y.
func (l GangLedger) takeReplacement(y *Allocation) (x *Allocation, n *Node) {
	if len(l.p.gangs.ending) == 0 {
		return nil, nil
	}
	mark := l.p.gangs.ending[y]
	x, n = mark.by, mark.node
	if x == nil {
		return nil, nil
	}
	l.unlink(x)
	if n != y.node && !n.Fits(x.shape) { // the node has shrunk
		return nil, nil
	}
	l.p.gangs.ending[y] = endingPlaceholder{replaced: true}
	return x, n
}

// bindReplacement binds x in the place of a placeholder that was removed.
func (l GangLedger) bindReplacement(x *Allocation, n *Node, now time.Time) {
	l.p.bindAndReindex(x, n, now)
	l.p.journal.post(Change{Kind: Replaced, Ask: x})
}

// hold holds resources of n for x (sign 1), or no longer (sign -1).
func (l GangLedger) hold(x *Allocation, n *Node, sign int) {
	c := n.ownExtra()
	if sign > 0 {
		c.replacing = append(c.replacing, x)
	} else {
		c.replacing = removeAllocationFrom(c.replacing, x)
	}
	addSigned(&c.held, x.shape.Vector(), sign)
	n.updateAvailable(&l.p.journal)
}
