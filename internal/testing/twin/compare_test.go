package twin

import (
	"time"

	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Differences returns the differences between a snapshot of a Core and the twin, a line each; none: they
// agree.
func (t *Twin) Differences(s *scheduler.Snapshot) []string {
	d := &comparison{t: t, s: s, c: t.total(), quotaUsage: t.quotaUsage()}
	same(d, "partition", "applications", len(t.apps), s.Applications)
	same(d, "partition", "asks", d.c.asks, s.Asks)
	same(d, "partition", "allocations", d.c.running, s.Allocations)
	sameAmounts(d, "partition", "capacity", d.c.capacity, s.Capacity)
	sameAmounts(d, "partition", "deficit", d.c.deficit, s.Root.Deficit)
	d.queue(t.root, s.Root, resources.Limit{})
	d.nodes(s.Nodes)
	same(d, "partition", "pauses", fmt.Sprint(d.t.cycles.coolDowns), fmt.Sprint(s.CoolDowns))
	d.budgets(s.Budgets)
	d.history("completed", d.t.completed, s.Completed)
	d.history("rejected", d.t.rejected, s.Rejected)
	return d.lines
}

// ShareDifferences returns the differences of the fair shares of queues, which a snapshot does not have.
func (t *Twin) ShareDifferences(p *objects.Partition) []string {
	p.RefreshShares()
	d := &comparison{t: t, c: t.total()}
	var below func(q *queue)
	below = func(q *queue) {
		is, known := p.Queue(q.path)
		if !known {
			d.differ(string(q.path), "known", true, false)
			return
		}
		if share := d.t.share(d.c, q); share.Compare(is.Share()) != 0 {
			d.differ(string(q.path), "share", share, is.Share())
		}
		for _, child := range q.children {
			below(child)
		}
	}
	below(t.root)
	return d.lines
}

// comparison collects the differences.
type comparison struct {
	t          *Twin
	s          *scheduler.Snapshot
	c          *totals
	quotaUsage map[quotaAccount]classUse
	lines      []string
}

func (d *comparison) queue(q *queue, v *scheduler.QueueView, above resources.Limit) {
	name := string(q.path)
	same(d, name, "path", q.path, v.Path)
	same(d, name, "leaf", !q.conf.Parent, v.Leaf)
	same(d, name, "managed", q.managed, v.Managed)
	same(d, name, "draining", q.draining, v.Draining)
	same(d, name, "stopped",
		slices.ContainsFunc(d.t.pathQueues(q.path), func(above *queue) bool { return d.t.stopped[above.path] }), v.Stopped)
	same(d, name, "drained", d.t.isDrained(q.path), v.Drained)
	same(d, name, "priority", d.t.exposedPriority(d.c, q), v.Priority)
	sameAmounts(d, name, "pending", d.c.pending[q.path], v.Pending)
	sameAmounts(d, name, "allocated", d.c.allocated[q.path], v.Allocated)
	headroom := v.HeadroomBelow(above)
	sameAmounts(d, name, "headroom", d.t.headroom(d.c, q), headroom)
	sameAmounts(d, name, "headroom by its path", headroom, d.s.Headroom(v.Path))
	same(d, name, "running", d.t.runningApps(d.c, q), uint64(v.Running))
	d.limits(q, v.Limits)
	d.violation(q, v.AboveMax)
	d.classQuotas(q, v.ClassQuotas)
	same(d, name, "maxapplications", q.conf.MaxApplications, v.MaxApplications)
	if q != d.t.root {
		sameAmounts(d, name, "max", q.max(), v.Max)
		sameAmounts(d, name, "guaranteed", q.guaranteed(), v.Guaranteed)
	}
	children := byName(q.children, func(q *queue) objects.QueuePath { return q.path })
	if same(d, name, "children", len(children), v.Children.Len()) {
		for i, child := range children {
			d.queue(child, v.Children.At(i), headroom)
		}
	}
	d.apps(q, v.Applications)
}

func (d *comparison) apps(q *queue, views persistent.List[scheduler.ApplicationView]) {
	apps := filter(d.t.apps, func(a *app) bool { return a.leaf == q.path })
	apps = byName(apps, func(a *app) objects.AppID { return a.id })
	if !same(d, string(q.path), "applications", len(apps), views.Len()) {
		return
	}
	for i, a := range apps {
		v, h, name := views.At(i), d.c.apps[a.id], string(a.id)
		same(d, name, "id", a.id, v.ID)
		same(d, name, "state", a.state, v.State)
		same(d, name, "moved", a.moved, v.Moved != nil)
		same(d, name, "on hold", d.t.held[a.id], v.OnHold)
		same(d, name, "submitted", a.submitted, v.Submitted)
		same(d, name, "priority", d.c.priority(a), v.Priority)
		same(d, name, "raised", a.raised, v.Raised)
		sameAmounts(d, name, "pending", h.pending, v.Pending)
		sameAmounts(d, name, "allocated", h.allocated, v.Allocated)
		sameAmounts(d, name, "placeholders", h.placeholders, v.Placeholders)
		sameAmounts(d, name, "peak", a.peak, v.Peak)
		d.gang(a, v.Gang)
		d.reservations(name, filter(d.t.reserving, func(w *allocation) bool { return w.ask.App == a.id }), v.Reservations)
		d.allocations(name, d.t.allocationsOf(a.id), v.Allocations)
	}
}

func (d *comparison) nodes(views persistent.List[scheduler.NodeView]) {
	nodes := byName(d.t.nodes, func(n *node) objects.NodeID { return n.id })
	if !same(d, "partition", "nodes", len(nodes), views.Len()) {
		return
	}
	for i, n := range nodes {
		v, name := views.At(i), string(n.id)
		same(d, name, "id", n.id, v.ID)
		same(d, name, "schedulable", n.schedulable, v.Schedulable)
		_, cordoned := d.t.cordoned[n.id]
		same(d, name, "cordoned", cordoned, v.Cordoned)
		same(d, name, "draining", d.t.drainingNodes[n.id], v.Draining)
		same(d, name, "score", d.t.nodeKey(d.c, n).Score, v.Score)
		sameAmounts(d, name, "total", n.total, v.Total)
		sameAmounts(d, name, "allocated", d.c.allocatedOnNode[n.id], v.Allocated)
		sameAmounts(d, name, "occupied", d.c.foreignOnNode[n.id], v.Occupied)
		sameAmounts(d, name, "available", d.c.available(n), v.Available)
		d.allocations(name, filter(d.t.allocations, func(w *allocation) bool { return w.node == n.id }), v.Allocations)
		d.foreign(n, v.Foreign)
		d.reservations(name, d.t.reservedOn(n.id), v.ReservedFor)
	}
}

func (d *comparison) history(what string, want []*endedApp, got persistent.List[lifecycle.Ended]) {
	if !same(d, "partition", what, len(want), got.Len()) {
		return
	}
	for i, p := range want {
		name, v := fmt.Sprintf("%s %d", what, i), got.At(i)
		same(d, name, "id", string(p.id), v.ID)
		same(d, name, "queue", string(p.queue), v.Queue)
		same(d, name, "state", p.state, v.State)
		same(d, name, "end", p.endedAt, v.Finished)
		sameAmounts(d, name, "peak", p.peak, v.Peak)
		log := v.Log
		same(d, name, "last entry", p.state, log[len(log)-1].State)
	}
}

func (d *comparison) foreign(n *node, views []*objects.Foreign) {
	want := map[objects.AllocationKey]objects.AppID{}
	for _, f := range d.t.foreign {
		if f.Node != n.id {
			continue
		}
		want[f.Key] = "none"
		if f.report != nil {
			want[f.Key] = f.report.Ask.App
		}
	}
	same(d, string(n.id), "foreign allocations", len(want), len(views))
	for _, f := range views {
		app := objects.AppID("none")
		if f.Orphan != nil {
			app = f.Orphan.Ask.App
		}
		same(d, string(n.id), "foreign allocation "+string(f.Key), want[f.Key], app)
	}
}

func (d *comparison) allocations(holder string, work []*allocation, views persistent.List[scheduler.AllocationView]) {
	if !same(d, holder, "asks and allocations", len(work), views.Len()) {
		return
	}
	for i, w := range byKey(work) {
		v, name := views.At(i), string(w.ask.Key)
		same(d, name, "key", w.ask.Key, v.Ask.Key)
		same(d, name, "node", w.node, v.Node)
		same(d, name, "class", w.class, v.PriorityClass)
		same(d, name, "leaving", w.preempting, v.Preempting)
		same(d, name, "overdue", w.overdue, v.Overdue)
		same(d, name, "preempting since", w.preemptingSince, v.PreemptedAt)
		same(d, name, "nominated", w.nominated, v.Nominated)
		same(d, name, "reserved", w.reserved, v.Reserved)
		same(d, name, "reserved at", w.reservedAt, v.ReservedAt)
		same(d, name, "ending", w.ending, v.Run.Ending)
		same(d, name, "max run time", d.t.maxRunTime(w), time.Duration(v.Run.MaxRunTime))
		same(d, name, "runs until", d.t.runsUntil(w), v.Run.RunsUntil.Time())
		var replaces objects.AllocationKey
		if y := d.t.replaces(w); y != nil {
			replaces = y.ask.Key
		}
		same(d, name, "replaces", replaces, v.Replaces)
		same(d, name, "created", w.created, v.Created)
		same(d, name, "priority", w.ask.Priority, v.Ask.Priority)
		sameAmounts(d, name, "amounts", w.ask.Amounts, v.Ask.Amounts)
	}
}

// reservations compares the asks for which nodes are reserved.
func (d *comparison) reservations(name string, want []*allocation, got []objects.AllocationKey) {
	var keys []objects.AllocationKey
	for _, w := range want {
		keys = append(keys, w.ask.Key)
	}
	same(d, name, "reservations", fmt.Sprint(keys), fmt.Sprint(got))
}

func (d *comparison) differ(name, what string, want, got any) {
	d.lines = append(d.lines, fmt.Sprintf("%s: %s is %v, the twin counts %v", name, what, got, want))
}

func same[T comparable](d *comparison, name, what string, want, got T) bool {
	if want != got {
		d.differ(name, what, want, got)
	}
	return want == got
}

// sameAmounts is same for resources.
func sameAmounts[T interface{ Equal(T) bool }](d *comparison, name, what string, want, got T) {
	if !want.Equal(got) {
		d.differ(name, what, want, got)
	}
}

func byName[T any, N ~string](list []*T, name func(*T) N) []*T {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *T) int { return strings.Compare(string(name(a)), string(name(b))) })
	return list
}

func byKey(list []*allocation) []*allocation {
	return byName(list, func(w *allocation) objects.AllocationKey { return w.ask.Key })
}
