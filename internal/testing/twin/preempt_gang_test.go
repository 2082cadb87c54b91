package twin

import "slices"

// preemptsAsGang reports whether w preempts together with its task group.
func (t *Twin) preemptsAsGang(w *allocation) bool {
	return w.ask.TaskGroup() != "" && t.queue(t.app(w.ask.App).leaf).conf.GangPreemption
}

// preemptGang finds victims for all pending asks of a task group, or preempts for none.
func (t *Twin) preemptGang(c *totals, w *allocation) bool {
	if len(t.preemptionReasons(c, w)) == 0 {
		return false
	}
	members := filter(t.allocations, func(x *allocation) bool {
		return x.ask.App == w.ask.App && x.ask.TaskGroup() == w.ask.TaskGroup() && x.node == "" && x.nominated == "" &&
			!t.heldBack(x)
	})
	slices.SortFunc(members, t.compareAsks)
	nominees, states := slices.Clone(t.nominees), make([]allocation, len(t.allocations))
	for i, x := range t.allocations {
		states[i] = *x
	}
	var plans []plan
	var reasons []string
	victims := 0
	for _, x := range members {
		p, reason, ok := t.planMember(t.total(), x) // usage has changed
		if !ok {
			plans = nil
			break
		}
		plans, reasons, victims = append(plans, p), append(reasons, reason), victims+len(p.victims)
		x.nominated = p.node.id
		t.nominees = append(t.nominees, x)
		for _, y := range p.victims {
			y.preempting = true
		}
	}
	for i, x := range t.allocations {
		*x = states[i]
	}
	t.nominees = nominees
	if victims == 0 {
		return false
	}
	for i, p := range plans {
		t.preemptAndNominate(members[i], p, reasons[i])
	}
	return len(plans) > 0
}

func (t *Twin) planMember(c *totals, x *allocation) (p plan, reason string, ok bool) {
	if !x.ask.Policy.AllowPreemptOther() {
		return plan{}, "", false
	}
	if t.quotasAllowWithout(c, x, nil) {
		for _, n := range t.inPreferenceOrder(t.nodesInOrder(c), x.ask, nil) {
			if c.fits(n, x.ask) && t.predicatesPass(n, x.ask) {
				return plan{node: n}, "", true
			}
		}
	}
	return t.planVictims(c, x)
}
