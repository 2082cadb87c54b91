package twin

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// beginGrace begins the grace of a node that lacks something after it got another capacity; anew if the node lacks more
// of something that it lacks.
func (t *Twin) beginGrace(n *node, before resources.Amounts) {
	lacks := negativeResources(t.total().available(n))
	switch lowered := slices.ContainsFunc(lacks, func(name string) bool { return n.total.Get(name) < before.Get(name) }); {
	case len(lacks) == 0 || !t.nodePressure:
	case t.nodePressureGrace == 0:
		t.preemptForPressure(n)
	case n.pressedSince.IsZero() || lowered:
		n.pressedSince = t.now
	}
}

// endGraces preempts on the nodes whose grace has ended.
func (t *Twin) endGraces() {
	for _, n := range t.nodes {
		if !n.pressedSince.IsZero() && !t.now.Before(n.pressedSince.Add(t.nodePressureGrace)) {
			n.pressedSince = time.Time{}
			t.preemptForPressure(n)
		}
	}
}

// graceEnds returns the times that endGraces waits for; none, if one has come already.
func (t *Twin) graceEnds() (times []time.Time) {
	for _, n := range t.nodes {
		if at := n.pressedSince.Add(t.nodePressureGrace); !n.pressedSince.IsZero() {
			times = append(times, at)
		}
	}
	if slices.ContainsFunc(times, func(at time.Time) bool { return !at.After(t.now) }) {
		return nil
	}
	return times
}

// emitOvercommitted says of which nodes the allocations exceed the capacity now and did not before, or the other way
// round.
func (t *Twin) emitOvercommitted() {
	c := t.total()
	for _, n := range byName(t.nodes, func(n *node) objects.NodeID { return n.id }) {
		available := c.available(n)
		e := scheduler.NodeChanged{Node: n.id, Change: scheduler.NodeNotOvercommitted, After: n.total,
			Allocations: t.allocationCountOn(n.id)}
		if available.HasNegative() {
			e.Change, e.Excess = scheduler.NodeOvercommitted, c.excess(n)
		} else {
			n.pressedSince = time.Time{}
		}
		if n.overcommitted != available.HasNegative() {
			n.overcommitted = available.HasNegative()
			t.emit(e)
		}
	}
}

// excess returns what a node lacks.
func (c *totals) excess(n *node) (excess resources.Amounts) {
	for name, q := range c.available(n).All() {
		if q < 0 {
			excess = excess.Sub(resources.FromMap(map[string]resources.Quantity{name: q}))
		}
	}
	return excess
}

// preemptForPressure preempts allocations on a node that has less capacity than they use (PRE-118,
// PRE-119).
func (t *Twin) preemptForPressure(n *node) {
	if !t.nodePressure {
		return
	}
	c := t.total()
	free := c.available(n)
	for _, w := range filter(t.allocations,
		func(w *allocation) bool { return (w.preempting || w.ending) && w.node == n.id }) {
		free = free.Add(w.ask.Amounts)
	}
	var scarce string
	worst := new(big.Rat)
	for name, q := range free.All() {
		if share := big.NewRat(-int64(q), max(1, int64(n.total.Get(name)))); q < 0 && share.Cmp(worst) > 0 {
			scarce, worst = name, share
		}
	}
	if scarce == "" {
		return
	}
	excess := func(w *allocation) int64 {
		used, err := objects.ReadUsage(w.ask.Tags())
		if n, ok := used[scarce]; ok && err == nil {
			return int64(n - w.ask.Amounts.Get(scarce))
		}
		return 0
	}
	candidates := filter(t.allocations, func(w *allocation) bool {
		return w.node == n.id && !w.preempting && !w.ending && w.ask.RequiredNode() == ""
	})
	slices.SortFunc(candidates, func(a, b *allocation) int {
		return cmp.Or(
			boolToInt(a.ask.Priority >= 2_000_000_000)-boolToInt(b.ask.Priority >= 2_000_000_000),
			boolToInt(excess(a) <= 0)-boolToInt(excess(b) <= 0),
			cmp.Compare(a.ask.Priority, b.ask.Priority), cmp.Compare(excess(b), excess(a)), cmp.Compare(a.ask.Key, b.ask.Key),
		)
	})
	var victims []*allocation
	for _, w := range candidates {
		if free.HasNegative() &&
			slices.ContainsFunc(negativeResources(free), func(name string) bool { return w.ask.Amounts.Get(name) > 0 }) {
			free, victims = free.Add(w.ask.Amounts), append(victims, w)
		}
	}
	if free.HasNegative() {
		return
	}
	for _, w := range slices.Backward(slices.Clone(victims)) {
		if less := free.Sub(w.ask.Amounts); !less.HasNegative() {
			free, victims = less, slices.DeleteFunc(victims, func(x *allocation) bool { return x == w })
		}
	}
	for _, w := range victims {
		w.preempting, w.preemptingSince = true, t.now
		t.emit(scheduler.Released{Key: w.ask.Key, App: w.ask.App, Type: scheduler.PreemptedByScheduler,
			Message: fmt.Sprintf("preempted (pressure): node %s has less capacity than its allocations hold", n.id)})
	}
}

func negativeResources(left resources.Amounts) (names []string) {
	for name, q := range left.All() {
		if q < 0 {
			names = append(names, name)
		}
	}
	return names
}
