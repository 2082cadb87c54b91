package twin

import "github.com/canopy-scheduler/canopy/pkg/resources"

// Preemption by a guarantee of which the queue lacks one resource and not another (PRE-13, PRE-121).

// againstGuarantee returns what w requests of the resources that q guarantees: where q with w stays within its
// guarantee, and where it would exceed it.
func (t *Twin) againstGuarantee(c *totals, q *queue, w *allocation) (within, beyond map[string]resources.Quantity) {
	within, beyond = map[string]resources.Quantity{}, map[string]resources.Quantity{}
	used := t.projectedUsage(c, q, nil).Add(w.ask.Amounts)
	for name, n := range w.ask.Amounts.All() {
		g, ok := q.guaranteed().Get(name)
		switch {
		case !ok || n <= 0:
		case used.Get(name) <= g:
			within[name] = n
		default:
			beyond[name] = n
		}
	}
	return within, beyond
}

// onlyBeyond returns an ask like w for what w requests beyond the guarantee that entitles it; nil: for nothing.
func (t *Twin) onlyBeyond(c *totals, w *allocation, reason string) *allocation {
	if reason != "guarantee" {
		return nil
	}
	_, beyond := t.againstGuarantee(c, t.entitlingQueue(c, w), w)
	if len(beyond) == 0 {
		return nil
	}
	ask := *w.ask
	ask.Amounts = resources.FromMap(beyond)
	rest := *w
	rest.ask = &ask
	return &rest
}

// needsNoVictim reports whether quotas and the node have room for w once what is preempting has ended; nil: it requests
// nothing.
func (t *Twin) needsNoVictim(c *totals, w *allocation, n *node) bool {
	if w == nil {
		return true
	}
	free := t.preemptableOn(c, w, n)
	for _, y := range t.preemptingOn(n.id) {
		free = free.Add(y.ask.Amounts)
	}
	return t.quotasAllowWithout(c, w, nil) && free.Covers(w.ask.Amounts)
}
