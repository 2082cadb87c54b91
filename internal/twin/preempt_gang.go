package twin

import "slices"

// gang says whether w looks for victims together with its task group.
func (t *Twin) gang(w *work) bool {
	return w.ask.TaskGroup != "" && t.queue(t.app(w.ask.App).leaf).conf.GangPreemption
}

// preemptTogether finds room for all pending asks of a task group, or tells nobody to leave.
func (t *Twin) preemptTogether(c *counts, w *work) bool {
	if len(t.rights(c, w)) == 0 {
		return false
	}
	members := filter(t.work, func(x *work) bool {
		return x.ask.App == w.ask.App && x.ask.TaskGroup == w.ask.TaskGroup && x.node == "" && x.nominated == ""
	})
	slices.SortFunc(members, t.compareAsks)
	nominees, states := slices.Clone(t.nominees), make([]work, len(t.work))
	for i, x := range t.work {
		states[i] = *x
	}
	var plans []plan
	var rights []string
	victims := 0
	for _, x := range members {
		p, right, ok := t.planMember(t.count(), x) // what is held has changed
		if !ok {
			plans = nil
			break
		}
		plans, rights, victims = append(plans, p), append(rights, right), victims+len(p.victims)
		x.nominated = p.n.id
		t.nominees = append(t.nominees, x)
		for _, y := range p.victims {
			y.leaving = true
		}
	}
	for i, x := range t.work {
		*x = states[i]
	}
	t.nominees = nominees
	if victims == 0 {
		return false
	}
	for i, p := range plans {
		t.carryOut(members[i], p, rights[i])
	}
	return len(plans) > 0
}

func (t *Twin) planMember(c *counts, x *work) (p plan, right string, ok bool) {
	if !x.ask.Policy.Other() {
		return plan{}, "", false
	}
	if t.allowedWithout(c, x, nil) {
		for _, n := range t.nodesInOrder(c) {
			if c.hasRoom(n, x.ask) && t.accepts(n, x.ask) {
				return plan{n: n}, "", true
			}
		}
	}
	return t.planAny(c, x)
}
