package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// State is a partition at one moment.
type State struct {
	Snapshot  *scheduler.Snapshot
	Config    configs.Partition // in force
	Lifetimes lifecycle.Lifetimes
}

// NewState returns the state of a snapshot with the configuration in force; ok is false if that has no such partition:
// a reload has just removed it.
func NewState(snap *scheduler.Snapshot, conf *configs.Config, lifetimes lifecycle.Lifetimes) (st State, ok bool) {
	i := slices.IndexFunc(conf.Partitions, func(p configs.Partition) bool { return p.Name == snap.Partition })
	if i < 0 {
		return State{}, false
	}
	return State{snap, conf.Partitions[i], lifetimes}, true
}

// original holds what a replica is made of: the parts of a snapshot in the order in which they are reported.
type original struct {
	conf  configs.Partition
	opt   objects.Options
	at    time.Time
	nodes []*scheduler.NodeView
	apps  []member // by submission
	usage []fairness.Kept
	bound []item // what runs
	asks  []item // what is pending, by creation
}

// member is an application that has asks or allocations.
type member struct {
	*scheduler.ApplicationView
	leaf    objects.QueuePath
	stopped bool // its leaf is
	value   string
}

// item is an ask or an allocation.
type item struct {
	*scheduler.AllocationView
	app int // index in original.apps
}

// newOriginal collects the parts of a snapshot. value is the value of the tag by which durations are grouped.
func newOriginal(st State, value func(tags map[string]string) string, slot *cpushare.Slot) *original {
	o := &original{conf: st.Config, opt: objects.DefaultOptions(), at: st.Snapshot.At}
	o.opt.PreemptionHistory, o.opt.Lifetimes = 1, st.Lifetimes
	o.opt.Lifetimes.New = 0     // applications are added before their asks, at the time of their submission
	o.conf.PlacementRules = nil // each application names its leaf, and has been admitted to it
	o.conf.ClassesNeedingQuota, o.conf.Root = nil, queueConf(st.Snapshot.Root)
	o.conf.Root.SubmitACL = security.Everyone()
	for n := range st.Snapshot.Nodes.All() {
		o.nodes = append(o.nodes, n)
	}
	o.addQueue(st.Snapshot.Root, slot, value)
	slices.SortFunc(o.bound,
		func(a, b item) int { return cmp.Or(a.BoundAt.Compare(b.BoundAt), cmp.Compare(a.Ask.Key, b.Ask.Key)) })
	slices.SortFunc(o.asks,
		func(a, b item) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Ask.Key, b.Ask.Key)) })
	return o
}

// queueConf returns a configuration with the settings that q and the queues below it have now. A dynamic leaf may have
// been created with another child template than the one in force, and the configuration has no draining queue (QUE-24).
// Class quotas are left out: they decide which asks are admitted, and all asks have been.
func queueConf(q *scheduler.QueueView) configs.Queue {
	parts := q.Path.Parts()
	conf := configs.Queue{
		Name: parts[len(parts)-1], Parent: !q.Leaf, Max: q.Max, Guaranteed: q.Guaranteed, MaxApplications: q.MaxApplications,
		Limits: q.LimitRules.All(), Settings: q.Settings,
	}
	if len(parts) == 1 {
		conf.Max = resources.Limit{} // the view has the capacity of the cluster
	}
	if !q.Managed {
		conf.QuotaPreemptionDelay = 0 // only a configured max is enforced (QUO-48)
	}
	for child := range q.Children.All() {
		conf.Children = append(conf.Children, queueConf(child))
	}
	return conf
}

func (o *original) addQueue(q *scheduler.QueueView, slot *cpushare.Slot, value func(map[string]string) string) {
	if q.UsageOverTime != nil {
		o.usage = append(o.usage, q.UsageOverTime.Kept(o.at))
	}
	for child := range q.Children.All() {
		o.addQueue(child, slot, value)
	}
	for a := range q.Applications.All() {
		if a.UsageOverTime != nil {
			o.usage = append(o.usage, a.UsageOverTime.Kept(o.at))
		}
		slot.Yield()
		if a.Allocations.Len() == 0 {
			continue
		}
		o.apps = append(o.apps, member{a, q.Path, q.Stopped, value(a.Tags)})
		for x := range a.Allocations.All() {
			part := &o.bound
			if x.Node == "" {
				part = &o.asks
			}
			*part = append(*part, item{x, len(o.apps) - 1})
		}
	}
}

// size returns how many objects a replica has.
func (o *original) size() int { return len(o.nodes) + len(o.apps) + len(o.bound) + len(o.asks) }

// replicaError says why a partition cannot be copied.
type replicaError struct{ reason string }

func (e *replicaError) Error() string { return e.reason }

// replica returns a scheduler in the state of the original: with its nodes, applications, allocations and pending asks.
// A nomination becomes a reservation. Back-offs and preemption cycles are not copied. The error is a *replicaError.
func (o *original) replica(slot *cpushare.Slot) (*scheduler.Core, error) {
	core := scheduler.NewWith(o.conf, nil, o.opt)
	core.Step(time.Time{}, scheduler.RestoreUsage{Usage: o.usage})
	order := make([]*member, len(o.apps))
	for i := range o.apps {
		order[i] = &o.apps[i]
	}
	slices.SortFunc(order,
		func(a, b *member) int { return cmp.Or(a.Submitted.Compare(b.Submitted), cmp.Compare(a.ID, b.ID)) })
	for _, a := range order {
		slot.Yield()
		if err := addMember(core, a, minTime(a.Submitted, o.at)); err != nil {
			return nil, err
		}
	}
	for _, n := range o.nodes {
		slot.Yield()
		core.Step(o.at, scheduler.AddNode{Node: n.ID, Total: n.Total, Attributes: n.Attributes, Schedulable: n.Schedulable})
		for _, f := range n.Foreign {
			core.Step(o.at, scheduler.ReportForeign{Foreign: *f})
		}
	}
	for _, x := range o.bound {
		slot.Yield()
		for _, e := range core.Step(o.at,
			scheduler.ReportAllocation{Ask: x.copyOfAsk(), Node: x.Node, Class: x.PriorityClass}) {
			if r, rejected := e.(scheduler.AskRejected); rejected {
				return nil, &replicaError{fmt.Sprintf("allocation %s cannot be copied: %s", r.Key, r.Reason)}
			}
		}
	}
	for _, x := range o.asks {
		slot.Yield()
		for _, e := range core.Step(o.at, scheduler.SubmitAskWithClass{Ask: x.copyOfAsk(), Class: x.PriorityClass}) {
			if r, rejected := e.(scheduler.AskRejected); rejected {
				return nil, &replicaError{fmt.Sprintf("ask %s cannot be copied: %s", r.Key, r.Reason)}
			}
		}
	}
	o.reserve(core.Partition())
	return core, nil
}

// reserve gives the asks the reservations that they have, the oldest first. A nominated ask gets one of its node: the
// victims there end at once.
func (o *original) reserve(part *objects.Partition) {
	type reserved struct {
		key  objects.AllocationKey
		node objects.NodeID
		at   time.Time
	}
	var all []reserved
	for _, x := range o.asks {
		switch {
		case x.Reserved != "":
			all = append(all, reserved{x.Ask.Key, x.Reserved, x.ReservedAt})
		case x.Nominated != "":
			all = append(all, reserved{x.Ask.Key, x.Nominated, x.NominatedAt})
		}
	}
	slices.SortFunc(all, func(a, b reserved) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key, b.key)) })
	for _, r := range all {
		x, pending := part.Allocation(r.key)
		n, there := part.Node(r.node)
		// the members of a gang reserve together
		if pending && there && !x.AskGroup().Held() && part.Reservations().Of(x) == nil && n.MayReserve(x) {
			part.Reservations().Reserve(x, n, r.at)
		}
	}
}

// addMember adds an application to its leaf.
func addMember(core *scheduler.Core, a *member, at time.Time) error {
	part := core.Partition()
	core.Step(at, scheduler.AddApplication{App: a.ID, User: a.User, Queue: string(a.leaf), Tags: a.Tags})
	if added, ok := part.Application(a.ID); !ok || added.Queue().Path() != a.leaf {
		return &replicaError{fmt.Sprintf("queue %s takes no applications: its application %s cannot be copied", a.leaf, a.ID)}
	}
	if a.OnHold {
		core.Step(at, scheduler.Operate{Action: scheduler.HoldApplication, App: a.ID})
	}
	if a.stopped {
		core.Step(at, scheduler.Operate{Action: scheduler.StopQueue, Queue: a.leaf})
	}
	return nil
}

// copyOfAsk returns the ask for another partition, which will change App and Amounts of the copy.
func (x item) copyOfAsk() *objects.Ask {
	ask := *x.Ask
	ask.Created = objects.TimestampOf(x.Created)
	return &ask
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
