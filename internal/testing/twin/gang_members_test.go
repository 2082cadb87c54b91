package twin

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Virtual placeholders (GAN-19 to GAN-24). What is stored is whether the members of an application still wait for each
// other; how many there are and whether they fit together is computed each time.

// minMember returns how many members of a task group are placed together; zero: none, or no longer.
func (t *Twin) minMember(id objects.AppID, group string) int {
	a := t.app(id)
	if a == nil || !a.waits {
		return 0
	}
	for _, v := range a.gang.Virtual {
		if v.Name == group {
			return v.MinMember
		}
	}
	return 0
}

// waitsForMembers reports whether w is placed together with others.
func (t *Twin) waitsForMembers(w *allocation) bool {
	return w.node == "" && !w.ask.Placeholder && t.minMember(w.ask.App, w.ask.TaskGroup()) > 0
}

// declareVirtual gives a new application its virtual placeholders.
func (a *app) declareVirtual() {
	for _, v := range a.gang.Virtual {
		a.groups = append(a.groups, &taskGroup{name: v.Name, count: v.MinMember})
	}
	a.waits = len(a.gang.Virtual) > 0
}

// endWait ends the wait of the members of a for each other; timedOut: because of the timeout.
func (a *app) endWait(timedOut bool) {
	for _, g := range a.groups {
		if timedOut {
			g.timedOut = g.count
		} else {
			g.replaced = g.count
		}
	}
	a.waits = false
}

// members returns the asks of a that are placed together. incomplete: there are too few.
func (t *Twin) members(c *totals, a *app) (all []*allocation, incomplete bool) {
	for _, v := range a.gang.Virtual {
		own := filter(t.allocationsOf(a.id),
			func(w *allocation) bool { return t.waitsForMembers(w) && w.ask.TaskGroup() == v.Name })
		if len(own) < v.MinMember {
			return nil, true
		}
		slices.SortFunc(own, t.compareAsks)
		all = append(all, own[:v.MinMember]...)
	}
	return t.byShape(c, all), false
}

// byShape sorts asks by shape, the largest first.
func (t *Twin) byShape(c *totals, all []*allocation) []*allocation {
	slices.SortFunc(all, t.compareAsks)
	var shapes [][]*allocation
	for _, w := range all {
		i := slices.IndexFunc(shapes, func(s []*allocation) bool { return sameShape(s[0].ask, w.ask) })
		if i < 0 {
			i, shapes = len(shapes), append(shapes, nil)
		}
		shapes[i] = append(shapes[i], w)
	}
	slices.SortStableFunc(shapes, func(x, y []*allocation) int { // equal shares stay in the order of their first asks
		return cmp.Or(cmp.Compare(boolToInt(y[0].ask.RequiredNode() != ""), boolToInt(x[0].ask.RequiredNode() != "")),
			cmp.Compare(shareOfCluster(c, y[0]), shareOfCluster(c, x[0])))
	})
	return slices.Concat(shapes...)
}

func sameShape(a, b *objects.Ask) bool {
	return a.Amounts.Equal(b.Amounts) && a.RequiredNode() == b.RequiredNode() &&
		constraintsOf(a).Key() == constraintsOf(b).Key() && a.Constraints().Key() == b.Constraints().Key()
}

func shareOfCluster(c *totals, w *allocation) (share float64) {
	for name, n := range w.ask.Amounts.All() {
		if total := c.capacity.Get(name); n > 0 && total > 0 {
			share = max(share, float64(n)/float64(total))
		}
	}
	return share
}

// planTogether finds nodes for all members of a, one after the other, each beside those before it.
func (t *Twin) planTogether(a *app) (asks []*allocation, on []objects.NodeID, ok bool) {
	c := t.total()
	members, incomplete := t.members(c, a)
	if incomplete || t.quotaBlocksTogether(a, members, true, resources.Amounts{}) {
		return nil, nil, false
	}
	g := &gangAssignment{t: t, c: c, nodes: t.nodesInOrder(c), used: map[objects.NodeID]resources.Amounts{}}
	if !g.placeAll(a, members) {
		return nil, nil, false
	}
	return g.asks, g.on, true
}

// quotaBlocksTogether places member after member of a on a node without end, within the quotas; cluster: also within
// the capacity of the cluster. Percents that alone exceeds do not count.
func (t *Twin) quotaBlocksTogether(a *app, members []*allocation, cluster bool,
	alone resources.Amounts) (blocked bool) {
	after := t.total()
	askedAgain := a.askedAgain
	defer func() { a.askedAgain = askedAgain }()
	for _, w := range members {
		_, limited := t.limitObstacle(after, w)
		if limited || !t.withinMax(after, w, alone) || cluster && !t.withinQuota(after, w) {
			return true
		}
		t.countAsPlaced(after, w)
		a.askedAgain = false
	}
	return false
}

// gangPlacement returns the asks of the gang of w and the nodes on which they are placed: on the nodes that they have
// reserved, if w has its turn because of that.
func (t *Twin) gangPlacement(w *allocation) (asks []*allocation, on []objects.NodeID) {
	if c := t.total(); w.together && t.gangFitsReserved(c) && t.gangAccepted() {
		asks = t.byShape(c, t.reservedTogether())
		for _, w := range asks {
			on = append(on, w.reserved)
		}
		return asks, on
	}
	asks, on, _ = t.planTogether(t.app(w.ask.App))
	return asks, on
}
