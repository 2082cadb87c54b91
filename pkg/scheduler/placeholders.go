package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// Real asks replace placeholders before ordinary asks are placed (GAN-6). In each application the pairs of an ask and a
// placeholder of its task group are tried in the order of asks, and for each in the order of keys: a placeholder that
// is too small is released, and one whose node accepts the ask is replaced there. Only if no pair remains, the first
// asks that have a placeholder are placed on the first other node that is feasible.

// Messages of releases of placeholders, as YuniKorn words them.
const (
	placeholderTooSmall = "cancel placeholder: resource incompatible"
	placeholderTimedOut = "releasing allocated placeholders on placeholder timeout"
)

// replacePlaceholders makes up to budget decisions about the placeholders of one application, and returns how many it
// has made; 0: there is nothing to decide in any.
func (c *Core) replacePlaceholders(now time.Time, budget int) (made int) {
	c.gangs.MayReplace(func(asks, placeholders []*objects.Allocation) bool {
		r := replacementRun{c: c, budget: budget, now: now, asks: asks, placeholders: placeholders}
		r.inPlace()
		if r.made < budget {
			r.onOtherNodes()
		}
		made = r.made
		return made > 0
	})
	return made
}

// replacementRun is the decisions about the placeholders of one application.
type replacementRun struct {
	c                  *Core
	now                time.Time
	asks, placeholders []*objects.Allocation // that are not paired yet, in order
	made, budget       int
	// whose first ask has no result, so that no other has one; only if asks of a group are alike
	refused []*objects.AskGroup
}

// alikeRefused reports whether an ask like x was tried without a result.
func (r *replacementRun) alikeRefused(x *objects.Allocation) bool {
	return slices.Contains(r.refused, x.AskGroup())
}

// refuse records that x has no result.
func (r *replacementRun) refuse(x *objects.Allocation) {
	if r.c.oracle == nil && (x.Constrained() || !r.c.nodes.For(x).MayRefuse()) {
		r.refused = append(r.refused, x.AskGroup())
	}
}

// inPlace releases placeholders that are too small, and replaces those whose nodes accept an ask.
func (r *replacementRun) inPlace() {
	for i := 0; i < len(r.asks) && r.made < r.budget; {
		if x := r.asks[i]; r.alikeRefused(x) || !r.replaceInPlace(i) {
			i++
		}
	}
}

// replaceInPlace does that for one ask. It reports whether the ask replaces a placeholder, and is gone from the list.
func (r *replacementRun) replaceInPlace(ask int) bool {
	x := r.asks[ask]
	for j := 0; j < len(r.placeholders); {
		y := r.placeholders[j]
		switch {
		case x.Ask().TaskGroup() != y.Ask().TaskGroup():
			j++
		case r.made == r.budget:
			return false
		case !holds(y, x):
			r.c.releaseTooSmall(x, y)
			r.placeholders = slices.Delete(r.placeholders, j, j+1)
			r.made++
		case r.accepts(x, y):
			r.replace(ask, j, y.Node())
			return true
		default:
			j++
		}
	}
	r.refuse(x)
	return false
}

// onOtherNodes replaces placeholders whose nodes do not accept the asks, by asks on other nodes.
func (r *replacementRun) onOtherNodes() {
	r.refused = nil
	for i := 0; i < len(r.asks) && r.made < r.budget; {
		x := r.asks[i]
		j := slices.IndexFunc(r.placeholders,
			func(y *objects.Allocation) bool { return y.Ask().TaskGroup() == x.Ask().TaskGroup() })
		if j < 0 || r.alikeRefused(x) {
			i++
			continue
		}
		y := r.placeholders[j]
		if n := r.c.firstFeasibleOf(x, r.c.nodes.For(x).Without([]*objects.Allocation{y})); n != nil {
			r.replace(i, j, n)
			continue
		}
		r.refuse(x)
		r.c.retryRefused(r.now) // the RM may have refused nodes
		i++
	}
}

// replace orders that an ask replaces a placeholder, and drops both from the lists.
func (r *replacementRun) replace(ask, placeholder int, n *objects.Node) {
	x, y := r.asks[ask], r.placeholders[placeholder]
	r.c.part.Gangs().Replace(x, y, n)
	r.c.emit(Released{y.Key(), y.Ask().App, PlaceholderReplaced, fmt.Sprintf("replacing allocationKey: %s", x.Key())})
	r.asks = slices.Delete(r.asks, ask, ask+1)
	r.placeholders = slices.Delete(r.placeholders, placeholder, placeholder+1)
	r.made++
}

// accepts reports whether x may be placed on the node of placeholder y, which holds its resources.
func (r *replacementRun) accepts(x, y *objects.Allocation) bool {
	n := y.Node()
	if !n.Accepts(x.Shape()) || !r.c.nodes.For(x).Without([]*objects.Allocation{y}).Allows(n) {
		return false
	}
	if r.c.acceptsWhenFree(x, n) {
		return true
	}
	r.c.retryRefused(r.now)
	return false
}

// holds reports whether a placeholder holds at least what x requests.
func holds(y, x *objects.Allocation) bool { return y.Shape().Vector().Covers(x.Shape().Vector()) }

// releaseTooSmall orders the release of a placeholder that is smaller than an ask of its task group (GAN-14).
func (c *Core) releaseTooSmall(x, y *objects.Allocation) {
	c.part.Gangs().TimeOut(y)
	c.emit(Released{y.Key(), y.Ask().App, TimedOut, placeholderTooSmall})
	c.emit(Event{
		Kind:    EventPlaceholderTooSmall,
		Message: fmt.Sprintf("placeholder %s holds %v, and the ask requests %v", y.Key(), y.Ask().Amounts, x.Ask().Amounts),
	}.about(x, y.Node().ID()))
}

// emitReplacements emits the asks that were placed because placeholders have ended (GAN-7).
func (c *Core) emitReplacements() {
	for _, x := range c.gangs.TakeReplaced() {
		c.emitAllocated(x.Ask(), x.Node().ID())
	}
}

// serveGangTimeouts ends the placeholder timeouts that are due (GAN-10).
func (c *Core) serveGangTimeouts(now time.Time) {
	for out, ok := c.part.Gangs().ExpireNext(now); ok; out, ok = c.part.Gangs().ExpireNext(now) {
		c.emitStateChanges()
		for _, y := range out.Released {
			c.emit(Released{y.Key(), y.Ask().App, TimedOut, placeholderTimedOut})
		}
		for _, x := range out.Cancelled {
			c.emit(AskTimedOut{Key: x.Key(), App: x.Ask().App, Message: placeholderTimedOut})
		}
		c.preemption.RecordEnded(preemption.VictimEnd{}, now)
	}
}
