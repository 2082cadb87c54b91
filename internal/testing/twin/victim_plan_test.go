package twin

import (
	"cmp"
	"math"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Victims and their node (PRE-21 to PRE-64).

// plan is a node with its victims.
type plan struct {
	node    *node
	victims []*allocation // by descending priority
	cost    []int64
}

// bestPlan compares the plans of the first maxCandidates nodes that have one.
func (t *Twin) bestPlan(c *totals, w *allocation, reason string) (best plan, ok bool) {
	compared, beyond := 0, t.onlyBeyond(c, w, reason)
	for _, n := range t.candidateNodes(c, w, reason) {
		candidates := filter(t.allocations,
			func(y *allocation) bool { return y.node == n.id && t.eligibleVictim(c, w, y, reason) })
		waits := len(t.preemptingOn(n.id)) > 0 || len(t.reservedOn(n.id)) > 0 ||
			slices.ContainsFunc(t.nominees, func(x *allocation) bool { return x.nominated == n.id })
		if !n.admits(w.ask) || !t.needsNoVictim(c, beyond, n) || len(candidates) == 0 && !waits && !t.ignoreQuotas {
			continue
		}
		p, found := t.planFor(c, w, n, candidates, reason, nil)
		p.cost = append(p.cost, textKey(n.id)...)
		if found && !(ok && slices.Compare(p.cost, best.cost) >= 0) && !t.predicatesAccept(n, w.ask, p.victims) {
			p, found = t.planFor(c, w, n, candidates, reason,
				func(victims []*allocation) bool { return t.predicatesAccept(n, w.ask, victims) })
			p.cost = append(p.cost, textKey(n.id)...)
		}
		if found {
			if !ok || slices.Compare(p.cost, best.cost) < 0 {
				best, ok = p, true
			}
			compared++
			if t.maxCandidates > 0 && compared >= t.maxCandidates && best.cost[0] == 0 {
				break
			}
		}
	}
	return best, ok
}

// predicatesAccept reports whether other allocations leave n to an ask, without its victims and what is preempting
// there, and the Oracle accepts it. It records a rejection after which the next ask of the group may be accepted: not
// one by constraints that all of the group have.
func (t *Twin) predicatesAccept(n *node, ask *objects.Ask, victims []*allocation) bool {
	if !t.affinityAllows(n, ask, slices.Concat(victims, t.preemptingOn(n.id))) {
		t.oracleRefused = t.oracleRefused || t.affinityOf(ask) == nil
		return false
	}
	yes := t.oracle == nil || t.oracle.Fits(ask.Key, n.id)
	t.oracleRefused = t.oracleRefused || !yes
	return yes
}

// candidateNodes returns the nodes on which w would fit without all candidates, by ID. Unless it is by
// guarantee, nodes where lower priorities suffice come first.
func (t *Twin) candidateNodes(c *totals, w *allocation, reason string) []*node {
	nodes := slices.Clone(t.nodes)
	slices.SortFunc(nodes, func(a, b *node) int { return cmp.Compare(a.id, b.id) })
	if reason == "required node" {
		return nodes
	}
	rank := func(n *node) int64 {
		free := t.preemptableOn(c, w, n)
		for _, y := range t.preemptingOn(n.id) {
			free = free.Add(y.ask.Amounts)
		}
		if free.Covers(w.ask.Amounts) {
			return math.MinInt64
		}
		removable := filter(t.allocations, func(y *allocation) bool {
			return y.node == n.id && !y.preempting && !y.ending && y.ask.RequiredNode() == ""
		})
		slices.SortFunc(removable,
			func(a, b *allocation) int { return cmp.Compare(t.victimPriority(a), t.victimPriority(b)) })
		for _, y := range removable {
			free = free.Add(y.ask.Amounts)
			if free.Covers(w.ask.Amounts) {
				return int64(t.victimPriority(y))
			}
		}
		return math.MaxInt64
	}
	nodes = filter(nodes, func(n *node) bool { return rank(n) != math.MaxInt64 })
	if reason != "guarantee" || t.queue(t.app(w.ask.App).leaf).conf.VictimOrder == policies.VictimOrderPriority {
		slices.SortStableFunc(nodes, func(a, b *node) int { return cmp.Compare(rank(a), rank(b)) })
	}
	return nodes
}

// planFor returns the plan for n. Without accepts it needs enough resources only; with it, an allocation is reprieved
// only if accepts holds without the others.
func (t *Twin) planFor(c *totals, w *allocation, n *node, candidates []*allocation, reason string,
	accepts func(victims []*allocation) bool) (plan, bool) {
	var units [][]*allocation
	for _, y := range candidates {
		if u := t.victimUnit(y); !slices.ContainsFunc(units, func(other []*allocation) bool { return other[0] == u[0] }) {
			units = append(units, u)
		}
	}
	slices.SortFunc(units, func(a, b []*allocation) int {
		return slices.Compare(t.victimWeight(a, w, reason), t.victimWeight(b, w, reason))
	})
	var chosen [][]*allocation
	for _, u := range units {
		before := slices.Concat(chosen...)
		if reason == "required node" || !t.anyProtected(c, w, u, before, reason) {
			if t.budgetPolicy(u) != policies.BudgetsStrict || !t.exceedsBudget(before, u) {
				chosen = append(chosen, u)
			}
		}
	}
	fits := func(chosen [][]*allocation) bool {
		free := t.preemptableOn(c, w, n)
		for _, y := range t.preemptingOn(n.id) {
			free = free.Add(y.ask.Amounts)
		}
		victims := slices.Concat(chosen...)
		for _, y := range victims {
			if y.node == n.id {
				free = free.Add(y.ask.Amounts)
			}
		}
		return free.Covers(w.ask.Amounts) && (t.ignoreQuotas || t.quotasAllowWithout(c, w, victims))
	}
	if !fits(chosen) || accepts != nil && !accepts(slices.Concat(chosen...)) {
		return plan{}, false
	}
	slices.Reverse(chosen)
	exceeding := map[*allocation]bool{}
	for i, u := range chosen { // reprieve by descending priority
		exceeding[u[0]] = t.exceedsBudget(slices.Concat(chosen[:i]...), u)
	}
	for _, first := range []bool{true, false} {
		for _, u := range slices.Clone(chosen) {
			without := slices.DeleteFunc(slices.Clone(chosen), func(v []*allocation) bool { return v[0] == u[0] })
			if exceeding[u[0]] == first && fits(without) && (accepts == nil || accepts(slices.Concat(without...))) {
				chosen = without
			}
		}
	}
	violations := int64(0)
	for _, u := range chosen {
		violations += int64(boolToInt(exceeding[u[0]]))
	}
	return plan{n, slices.Concat(chosen...), append([]int64{violations}, t.planCost(chosen, w, reason)...)}, true
}

func (t *Twin) budgetPolicy(unit []*allocation) policies.BudgetPolicy {
	return t.queue(t.app(unit[0].ask.App).leaf).conf.BudgetPolicy
}

// exceedsBudget reports whether preempting a unit, after others, exceeds a budget.
func (t *Twin) exceedsBudget(before, unit []*allocation) bool {
	if t.budgetPolicy(unit) == policies.BudgetsIgnored {
		return false
	}
	for i := range t.budgets {
		b := &t.budgets[i]
		about := func(y *allocation) bool {
			return !y.ask.Placeholder && budgetSelects(b, y.ask.Tags()) &&
				t.budgetPolicy([]*allocation{y}) != policies.BudgetsIgnored
		}
		all, leaving := t.budgetUsage(b)
		more := len(filter(unit, about))
		if more > 0 && len(filter(before, about))+more > disruptionsAllowed(b.Allowance, all, leaving) {
			return true
		}
	}
	return false
}

// anyProtected reports whether a guarantee protects a member of a unit, or the fair shares all of it.
func (t *Twin) anyProtected(c *totals, w *allocation, unit, victims []*allocation, reason string) bool {
	if reason == "fair share" && t.fairSharesProtect(c, w, unit, victims) {
		return true
	}
	for i, y := range unit {
		if t.guaranteeProtects(c, w, y, slices.Concat(victims, unit[:i])) {
			return true
		}
	}
	return false
}

func (t *Twin) preemptingOn(id objects.NodeID) []*allocation {
	return filter(t.allocations, func(w *allocation) bool { return w.preempting && !w.overdue && w.node == id })
}

// eligibleVictim reports whether w could preempt y (PRE-21, PRE-19, PRE-25).
func (t *Twin) eligibleVictim(c *totals, w, y *allocation, reason string) bool {
	own, other := t.queue(t.app(w.ask.App).leaf), t.queue(t.app(y.ask.App).leaf)
	if y.node == "" || y.preempting || y.ending || y.ask.RequiredNode() != "" || !sharesResource(w, y) {
		return false
	}
	priority := t.victimPriority(y)
	if t.strictlyYoung(t.victimUnit(y), reason) {
		return false
	}
	for _, z := range t.victimUnit(y) {
		priority = max(priority, t.victimPriority(z))
		if z.ask.RequiredNode() != "" {
			return false
		}
	}
	if priority >= 2_000_000_000 && w.ask.Priority <= priority {
		return false
	}
	if t.coolingDown(own.path, other.path) {
		return false
	}
	if reason == "required node" {
		return priority <= w.ask.Priority
	}
	if other.conf.PreemptionPolicy == policies.PreemptDisabled {
		return false
	}
	if reason == "priority" && own.conf.PriorityPreemption == policies.PriorityPreemptionLeaf && own != other {
		return false
	}
	if reason == "guarantee" && t.entitlingQueue(c, w).contains(other.path) {
		return false
	}
	common := t.root
	fenced := false
	for _, q := range t.pathQueues(own.path) {
		if q.contains(other.path) {
			common = q
		} else {
			fenced = fenced || q.conf.PreemptionPolicy == policies.PreemptFence
		}
	}
	if fenced || reason == "fair share" && !t.aboveFairShare(c, w, y, common) {
		return false
	}
	mine, theirs := t.effectivePriority(common, own, w.ask.Priority), t.effectivePriority(common, other, priority)
	return theirs < mine || theirs == mine && reason != "priority"
}

func sharesResource(w, y *allocation) bool {
	for name, n := range w.ask.Amounts.All() {
		if n > 0 && y.ask.Amounts.Get(name) > 0 {
			return true
		}
	}
	return false
}

// effectivePriority returns a priority in a leaf as the queue above sees it.
func (t *Twin) effectivePriority(above, leaf *queue, priority int32) int64 {
	p := int64(priority)
	for _, q := range slices.Backward(t.pathQueues(leaf.path)) {
		if q == above {
			break
		}
		if q.conf.PriorityPolicy == policies.PriorityFence {
			p = 0
		}
		p = min(max(p+int64(q.conf.PriorityOffset), math.MinInt32), math.MaxInt32)
	}
	return p
}

// guaranteeProtects reports whether a guarantee protects y (PRE-34).
func (t *Twin) guaranteeProtects(c *totals, w, y *allocation, victims []*allocation) bool {
	own := t.app(w.ask.App).leaf
	for _, q := range t.pathQueues(t.app(y.ask.App).leaf) {
		if q.contains(own) {
			continue
		}
		left := t.projectedUsage(c, q, victims).Sub(y.ask.Amounts)
		for _, x := range t.nominees { // nominated asks do not count
			if q.contains(t.app(x.ask.App).leaf) {
				left = left.Sub(x.ask.Amounts)
			}
		}
		for name, n := range y.ask.Amounts.All() {
			if g, ok := q.guaranteed().Get(name); ok && n > 0 && left.Get(name) < g {
				return true
			}
		}
	}
	return false
}

// victimUnit returns the allocations that are preempted with y, by key.
func (t *Twin) victimUnit(y *allocation) []*allocation {
	how := t.queue(t.app(y.ask.App).leaf).conf.VictimUnit
	if how == policies.VictimUnitAllocation || how == policies.VictimUnitTaskGroup && y.ask.TaskGroup() == "" {
		return []*allocation{y}
	}
	return byKey(filter(t.allocations, func(z *allocation) bool {
		return z == y || z.ask.App == y.ask.App && z.node != "" && !z.preempting && !z.ending &&
			(how == policies.VictimUnitApplication || z.ask.TaskGroup() == y.ask.TaskGroup())
	}))
}

// victimPriority returns the priority of y as a victim.
func (t *Twin) victimPriority(y *allocation) int32 {
	a := t.app(y.ask.App)
	how := t.queue(a.leaf).conf.VictimUnit
	if a.groupPriority != nil &&
		(how == policies.VictimUnitApplication || how == policies.VictimUnitTaskGroup && y.ask.TaskGroup() != "") {
		return min(y.ask.Priority, *a.groupPriority)
	}
	return y.ask.Priority
}

// victimWeight returns numbers that are larger, the first that differs, for a unit that is preempted later.
func (t *Twin) victimWeight(unit []*allocation, w *allocation, reason string) []int64 {
	number, refusesPreemption, originator, since := int64(math.MinInt64), int64(0), int64(0), int64(math.MaxInt64)
	var quality int64
	conf := t.queue(t.app(w.ask.App).leaf).conf
	for _, y := range unit {
		number, since = max(number, int64(t.victimPriority(y))), min(since, y.boundAt.UnixNano())
		refusesPreemption, originator = max(refusesPreemption, int64(boolToInt(!y.ask.Policy.AllowPreemptSelf()))),
			max(originator, int64(boolToInt(y.ask.Originator)))
		if conf.VictimQoS == policies.VictimQoSEnabled {
			quality = max(quality, qosRank(y.ask.Tags()["kubernetes.io/meta/qosClass"]))
		}
	}
	size := int64(len(unit))
	last := textKey(unit[0].ask.Key)
	for i := range last {
		last[i] = -last[i]
	}
	last = append(append([]int64{size, -since}, last...), 1)
	first := t.young(unit, reason)
	switch {
	case reason == "priority":
		return append([]int64{first, number, quality, refusesPreemption, originator}, last...)
	case reason == "guarantee" && conf.VictimOrder == policies.VictimOrderCompatible:
		return append([]int64{first, refusesPreemption, originator}, last...)
	}
	return append([]int64{first, refusesPreemption, originator, number, quality}, last...)
}

func qosRank(text string) int64 {
	switch text {
	case "BestEffort":
		return 0
	case "Guaranteed":
		return 2
	}
	return 1
}

// planCost returns numbers that are smaller, the first that differs, for a plan with less disruption.
func (t *Twin) planCost(chosen [][]*allocation, w *allocation, reason string) []int64 {
	top, sum, count, oldest := int64(math.MinInt64), int64(0), int64(0), int64(math.MaxInt64)
	var refusesPreemption, originator, young int64
	for _, u := range chosen {
		young += t.young(u, reason) * int64(len(u))
		number, since := int64(math.MinInt64), int64(math.MaxInt64)
		for _, y := range u {
			number, since = max(number, int64(t.victimPriority(y))), min(since, y.boundAt.UnixNano())
			refusesPreemption, originator = max(refusesPreemption, int64(boolToInt(!y.ask.Policy.AllowPreemptSelf()))),
				max(originator, int64(boolToInt(y.ask.Originator)))
		}
		count += int64(len(u))
		sum += (number + 1<<31) * int64(len(u))
		if number > top {
			top, oldest = number, since
		} else if number == top {
			oldest = min(oldest, since)
		}
	}
	numbers := []int64{top, sum, count, -oldest}
	switch {
	case reason == "priority":
		return append([]int64{young}, numbers...)
	case reason == "guarantee" && t.queue(t.app(w.ask.App).leaf).conf.VictimOrder == policies.VictimOrderCompatible:
		return []int64{young, refusesPreemption, originator, count}
	}
	return append([]int64{young, refusesPreemption, originator}, numbers...)
}

// textKey compares like the text.
func textKey[T ~string](text T) []int64 {
	var letters []int64
	for _, b := range []byte(text) {
		letters = append(letters, int64(b))
	}
	return letters
}
