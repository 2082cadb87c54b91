package twin

import (
	"cmp"
	"math"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Who is taken, and where (P3 to P9).

// plan is who has to leave which node.
type plan struct {
	n       *node
	victims []*work // the most important first
	cost    []int64
}

// bestPlan compares the first so many nodes on which room could be made.
func (t *Twin) bestPlan(c *counts, w *work, right string) (best plan, ok bool) {
	compared := 0
	for _, n := range t.nodesToTry(c, w, right) {
		may := filter(t.work, func(y *work) bool { return y.node == n.id && t.mayTake(c, w, y, right) })
		waits := len(t.leavingOn(n.id)) > 0 || slices.ContainsFunc(t.nominees, func(x *work) bool { return x.nominated == n.id })
		if !n.accepts(w.ask) || len(may) == 0 && !waits && !t.anyQuota {
			continue
		}
		p, found := t.planFor(c, w, n, may, right)
		p.cost = append(p.cost, name(n.id)...)
		if found && (ok && slices.Compare(p.cost, best.cost) >= 0 || t.takes(n, w.ask)) {
			if !ok || slices.Compare(p.cost, best.cost) < 0 {
				best, ok = p, true
			}
			if compared++; t.candidates > 0 && compared >= t.candidates && best.cost[0] == 0 {
				break
			}
		}
	}
	return best, ok
}

// takes asks the RM, and notes that it said no.
func (t *Twin) takes(n *node, ask *objects.Ask) bool {
	yes := t.accepts(n, ask)
	t.saidNo = t.saidNo || !yes
	return yes
}

// nodesToTry are those where w would fit if all went who could, in the order of their names.
// By priority those are first where the less important would be enough.
func (t *Twin) nodesToTry(c *counts, w *work, right string) []*node {
	nodes := slices.Clone(t.nodes)
	slices.SortFunc(nodes, func(a, b *node) int { return cmp.Compare(a.id, b.id) })
	if right == "required node" {
		return nodes
	}
	rank := func(n *node) int64 {
		room := t.roomFor(c, w, n)
		for _, y := range t.leavingOn(n.id) {
			room = room.Add(y.ask.Amounts)
		}
		if room.Covers(w.ask.Amounts) {
			return math.MinInt64
		}
		could := filter(t.work, func(y *work) bool { return y.node == n.id && !y.leaving && y.ask.RequiredNode == "" })
		slices.SortFunc(could, func(a, b *work) int { return cmp.Compare(t.number(a), t.number(b)) })
		for _, y := range could {
			if room = room.Add(y.ask.Amounts); room.Covers(w.ask.Amounts) {
				return int64(t.number(y))
			}
		}
		return math.MaxInt64
	}
	nodes = filter(nodes, func(n *node) bool { return rank(n) != math.MaxInt64 })
	if right == "priority" || t.queue(t.app(w.ask.App).leaf).conf.VictimOrder == policies.VictimsByPriority {
		slices.SortStableFunc(nodes, func(a, b *node) int { return cmp.Compare(rank(a), rank(b)) })
	}
	return nodes
}

func (t *Twin) planFor(c *counts, w *work, n *node, may []*work, right string) (plan, bool) {
	var units [][]*work
	for _, y := range may {
		if u := t.unit(y); !slices.ContainsFunc(units, func(other []*work) bool { return other[0] == u[0] }) {
			units = append(units, u)
		}
	}
	slices.SortFunc(units, func(a, b []*work) int { return slices.Compare(t.weight(a, w, right), t.weight(b, w, right)) })
	var off [][]*work
	for _, u := range units {
		before := slices.Concat(off...)
		if right == "required node" || !t.anySpared(c, w, u, before) {
			if t.thinksOfBudgets(u) != policies.BudgetsStrict || !t.overBudget(before, u) {
				off = append(off, u)
			}
		}
	}
	fits := func(off [][]*work) bool {
		room := t.roomFor(c, w, n)
		for _, y := range t.leavingOn(n.id) {
			room = room.Add(y.ask.Amounts)
		}
		victims := slices.Concat(off...)
		for _, y := range victims {
			if y.node == n.id {
				room = room.Add(y.ask.Amounts)
			}
		}
		return room.Covers(w.ask.Amounts) && (t.anyQuota || t.allowedWithout(c, w, victims))
	}
	if !fits(off) {
		return plan{}, false
	}
	slices.Reverse(off)
	beyond := map[*work]bool{}
	for i, u := range off { // the most important is allowed to leave first
		beyond[u[0]] = t.overBudget(slices.Concat(off[:i]...), u)
	}
	for _, first := range []bool{true, false} {
		for _, u := range slices.Clone(off) {
			without := slices.DeleteFunc(slices.Clone(off), func(v []*work) bool { return v[0] == u[0] })
			if beyond[u[0]] == first && fits(without) {
				off = without
			}
		}
	}
	violations := int64(0)
	for _, u := range off {
		violations += int64(yes(beyond[u[0]]))
	}
	return plan{n, slices.Concat(off...), append([]int64{violations}, t.cost(off, w, right)...)}, true
}

func (t *Twin) thinksOfBudgets(unit []*work) policies.Budgets {
	return t.queue(t.app(unit[0].ask.App).leaf).conf.Budgets
}

// overBudget says whether a unit, if it leaves after others, is more than some budget of its
// work allows.
func (t *Twin) overBudget(before, unit []*work) bool {
	if t.thinksOfBudgets(unit) == policies.BudgetsIgnored {
		return false
	}
	for i := range t.budgets {
		b := &t.budgets[i]
		about := func(y *work) bool {
			return !y.ask.Placeholder && selects(b, y.ask.Tags) && t.thinksOfBudgets([]*work{y}) != policies.BudgetsIgnored
		}
		all, leaving := t.selected(b)
		more := len(filter(unit, about))
		if more > 0 && len(filter(before, about))+more > allowed(b.Allowance, all, leaving) {
			return true
		}
	}
	return false
}

// anySpared says whether a guarantee keeps one of a unit where it is.
func (t *Twin) anySpared(c *counts, w *work, unit, victims []*work) bool {
	for i, y := range unit {
		if t.spared(c, w, y, slices.Concat(victims, unit[:i])) {
			return true
		}
	}
	return false
}

func (t *Twin) leavingOn(id objects.NodeID) []*work {
	return filter(t.work, func(w *work) bool { return w.leaving && !w.overdue && w.node == id })
}

// mayTake says whether w could take y (P3, P6, P7).
func (t *Twin) mayTake(c *counts, w, y *work, right string) bool {
	own, other := t.queue(t.app(w.ask.App).leaf), t.queue(t.app(y.ask.App).leaf)
	if y.node == "" || y.leaving || y.ask.RequiredNode != "" || !sharesSomething(w, y) {
		return false
	}
	number := t.number(y)
	for _, z := range t.unit(y) {
		if number = max(number, t.number(z)); z.ask.RequiredNode != "" {
			return false
		}
	}
	if number >= 2_000_000_000 && w.ask.Priority <= number {
		return false
	}
	if t.paused(own.path, other.path) {
		return false
	}
	if right == "required node" {
		return number <= w.ask.Priority
	}
	if other.conf.Preemption == policies.PreemptDisabled {
		return false
	}
	if right == "priority" && own.conf.PrioritySwap == policies.PrioritySwapLeaf && own != other {
		return false
	}
	if right == "guarantee" && t.owed(c, w).within(other.path) {
		return false
	}
	common := t.root
	fenced := false
	for _, q := range t.along(own.path) {
		if q.within(other.path) {
			common = q
		} else {
			fenced = fenced || q.conf.Preemption == policies.PreemptFence
		}
	}
	if fenced {
		return false
	}
	mine, theirs := t.seenFrom(common, own, w.ask.Priority), t.seenFrom(common, other, number)
	return theirs < mine || theirs == mine && right == "guarantee"
}

func sharesSomething(w, y *work) bool {
	for name, n := range w.ask.Amounts.All() {
		if n > 0 && y.ask.Amounts.Get(name) > 0 {
			return true
		}
	}
	return false
}

// seenFrom is a priority in a leaf as the queue above sees it.
func (t *Twin) seenFrom(above, leaf *queue, priority int32) int64 {
	p := int64(priority)
	for _, q := range slices.Backward(t.along(leaf.path)) {
		if q == above {
			break
		}
		if q.conf.Priority == policies.PriorityFence {
			p = 0
		}
		p = min(max(p+int64(q.conf.Offset), math.MinInt32), math.MaxInt32)
	}
	return p
}

// spared says whether a guarantee on the side of y keeps it where it is (P4).
func (t *Twin) spared(c *counts, w, y *work, victims []*work) bool {
	own := t.app(w.ask.App).leaf
	for _, q := range t.along(t.app(y.ask.App).leaf) {
		if q.within(own) {
			continue
		}
		left := t.usedIn(c, q, victims).Sub(y.ask.Amounts)
		for _, x := range t.nominees { // what is promised does not count
			if q.within(t.app(x.ask.App).leaf) {
				left = left.Sub(x.ask.Amounts)
			}
		}
		for name, n := range y.ask.Amounts.All() {
			if g, ok := q.conf.Guaranteed.Get(name); ok && n > 0 && left.Get(name) < g {
				return true
			}
		}
	}
	return false
}

// unit are those that fall with y, by their names.
func (t *Twin) unit(y *work) []*work {
	how := t.queue(t.app(y.ask.App).leaf).conf.VictimUnit
	if how == policies.UnitAllocation || how == policies.UnitTaskGroup && y.ask.TaskGroup == "" {
		return []*work{y}
	}
	return byKey(filter(t.work, func(z *work) bool {
		return z == y || z.ask.App == y.ask.App && z.node != "" && !z.leaving && (how == policies.UnitApplication || z.ask.TaskGroup == y.ask.TaskGroup)
	}))
}

// number is the priority of y as a victim.
func (t *Twin) number(y *work) int32 {
	a := t.app(y.ask.App)
	how := t.queue(a.leaf).conf.VictimUnit
	if a.group != nil && (how == policies.UnitApplication || how == policies.UnitTaskGroup && y.ask.TaskGroup != "") {
		return min(y.ask.Priority, *a.group)
	}
	return y.ask.Priority
}

// weight is larger, number by number, for a unit that should stay longer.
func (t *Twin) weight(unit []*work, w *work, right string) []int64 {
	number, reluctant, leads, since := int64(math.MinInt64), int64(0), int64(0), int64(math.MaxInt64)
	var quality int64
	conf := t.queue(t.app(w.ask.App).leaf).conf
	for _, y := range unit {
		number, since = max(number, int64(t.number(y))), min(since, y.bound.UnixNano())
		reluctant, leads = max(reluctant, int64(yes(!y.ask.Policy.Self()))), max(leads, int64(yes(y.ask.Originator)))
		if conf.VictimQoS == policies.QoSCounts {
			quality = max(quality, qualityOf(y.ask.Tags["kubernetes.io/meta/qosClass"]))
		}
	}
	size := int64(len(unit))
	last := name(unit[0].ask.Key)
	for i := range last {
		last[i] = -last[i]
	}
	last = append(append([]int64{size, -since}, last...), 1)
	switch {
	case right == "priority":
		return append([]int64{number, quality, reluctant, leads}, last...)
	case right == "guarantee" && conf.VictimOrder == policies.VictimsCompatible:
		return append([]int64{reluctant, leads}, last...)
	}
	return append([]int64{reluctant, leads, number, quality}, last...)
}

func qualityOf(text string) int64 {
	switch text {
	case "BestEffort":
		return 0
	case "Guaranteed":
		return 2
	}
	return 1
}

// cost is smaller, number by number, for a plan that takes less.
func (t *Twin) cost(off [][]*work, w *work, right string) []int64 {
	top, sum, count, oldest := int64(math.MinInt64), int64(0), int64(0), int64(math.MaxInt64)
	var reluctant, leads int64
	for _, u := range off {
		number, since := int64(math.MinInt64), int64(math.MaxInt64)
		for _, y := range u {
			number, since = max(number, int64(t.number(y))), min(since, y.bound.UnixNano())
			reluctant, leads = max(reluctant, int64(yes(!y.ask.Policy.Self()))), max(leads, int64(yes(y.ask.Originator)))
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
	case right == "priority":
		return numbers
	case right == "guarantee" && t.queue(t.app(w.ask.App).leaf).conf.VictimOrder == policies.VictimsCompatible:
		return []int64{reluctant, leads, count}
	}
	return append([]int64{reluctant, leads}, numbers...)
}

// name compares as the text does.
func name[T ~string](text T) []int64 {
	var letters []int64
	for _, b := range []byte(text) {
		letters = append(letters, int64(b))
	}
	return letters
}
