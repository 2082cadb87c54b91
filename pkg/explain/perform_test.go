package explain_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// performed returns the commands that perform a change; nil: the test cannot, for example because a queue is dynamic
// and has its max from a template.
func performed(core *scheduler.Core, e *scheduler.Explanation, c explain.GateChange) []scheduler.Command {
	p := core.Partition()
	switch c.Action {
	case explain.ConnectResourceManager:
		return []scheduler.Command{scheduler.SetListening{Listening: true}}
	case explain.SubmitMembers:
		return members(p, e, c)
	case explain.EndApplications:
		return ended(c)
	case explain.FreeInQueue, explain.FreeInCluster, explain.FreeOfLimit, explain.FreeOnNode:
		return freed(p, c)
	case explain.RaiseQueueMax, explain.RaiseQueueMaxApplications, explain.RaiseLimit, explain.RaiseLimitMaxApplications:
		return raised(p, c)
	case explain.AddNode:
		if c.Subject != "" || wouldOverflow(p, c.Amounts) {
			return nil // with labels that the constraints of the ask admit; or the capacity could not be counted any more
		}
		return []scheduler.Command{scheduler.AddNode{Node: objects.NodeID(fmt.Sprint("added-", len(p.Nodes()))),
			Total: c.Amounts, Schedulable: true}}
	case explain.RegisterNode:
		if c.Subject != "" || wouldOverflow(p, c.Amounts) {
			return nil
		}
		return []scheduler.Command{scheduler.AddNode{Node: c.Node, Total: c.Amounts, Schedulable: true}}
	case explain.GrowNode:
		if wouldOverflow(p, c.Amounts) {
			return nil
		}
		n, _ := p.Node(c.Node)
		return []scheduler.Command{scheduler.SetCapacity{Node: c.Node, Total: overwritten(p.Amounts(n.Total()), c.Amounts)}}
	case explain.Uncordon:
		return []scheduler.Command{scheduler.Operate{Action: scheduler.UncordonNode, Node: c.Node},
			scheduler.SetSchedulable{Node: c.Node, Schedulable: true}}
	case explain.ReleaseApplication:
		return []scheduler.Command{scheduler.Operate{Action: scheduler.ReleaseApplication, App: objects.AppID(c.Subject)}}
	case explain.StartQueue:
		return []scheduler.Command{scheduler.Operate{Action: scheduler.StartQueue, Queue: c.Queue}}
	case explain.MoveApplication:
		return moved(p, c)
	case explain.RemoveTaints:
		return untainted(p, c)
	}
	panic("no way to perform " + string(c.Action))
}

// wouldOverflow reports whether a node might be refused because the capacity of the cluster would overflow.
func wouldOverflow(p *objects.Partition, added resources.Amounts) bool {
	for _, n := range added.All() {
		if n > 1<<60 {
			return true
		}
	}
	return slices.ContainsFunc(p.Capacity(), func(n resources.Quantity) bool { return n > 1<<60 })
}

// smallerChange returns a change that is just too small; ok is false if there is none.
func smallerChange(c explain.GateChange, r *rand.Rand) (smaller explain.GateChange, ok bool) {
	switch smaller = c; c.Action {
	case explain.SubmitMembers, explain.EndApplications, explain.RaiseLimitMaxApplications,
		explain.RaiseQueueMaxApplications:
		smaller.Count--
		return smaller, smaller.Count > 0
	case explain.RemoveTaints:
		smaller.Candidates = c.Candidates[:len(c.Candidates)-1]
		return smaller, len(smaller.Candidates) > 0
	case explain.ConnectResourceManager, explain.Uncordon, explain.ReleaseApplication, explain.StartQueue,
		explain.MoveApplication:
		return smaller, false
	}
	names := slices.Sorted(maps.Keys(c.Amounts.Map()))
	name := names[r.IntN(len(names))]
	smaller.Amounts = c.Amounts.Sub(resources.FromMap(map[string]resources.Quantity{name: 1}))
	return smaller, !smaller.Amounts.IsZero()
}

// overwritten returns a with the quantities of b in place of its own.
func overwritten(a, b resources.Amounts) resources.Amounts {
	all := a.Map()
	maps.Copy(all, b.Map())
	return resources.FromMap(all)
}

func resized(x *objects.Allocation, amounts resources.Amounts) []scheduler.Command {
	ask := *x.Ask()
	ask.Amounts = amounts
	return []scheduler.Command{scheduler.SubmitAsk{Ask: &ask}}
}

func members(p *objects.Partition, e *scheduler.Explanation, c explain.GateChange) (commands []scheduler.Command) {
	x, _ := p.Allocation(e.Key)
	for i := range c.Count {
		ask := *x.Ask()
		ask.Key = objects.AllocationKey(fmt.Sprintf("%s-%s-%d", e.Key, c.Subject, i))
		ask.Details = objects.NewAskDetails(objects.AskDetails{TaskGroup: c.Subject})
		commands = append(commands, scheduler.SubmitAsk{Ask: &ask})
	}
	return commands
}

func ended(c explain.GateChange) (commands []scheduler.Command) {
	if int(c.Count) > len(c.Candidates) {
		return nil
	}
	for _, id := range c.Candidates[:c.Count] {
		commands = append(commands, scheduler.RemoveApplication{App: objects.AppID(id)})
	}
	return commands
}

// freed makes allocations smaller until exactly the amounts of the change are free; nil: there are not enough.
func freed(p *objects.Partition, c explain.GateChange) (commands []scheduler.Command) {
	left := c.Amounts.Map()
	for _, x := range allocationsOf(p, c) {
		rest := x.Ask().Amounts.Map()
		changed := false
		for name, n := range rest {
			if take := min(n, left[name]); take > 0 {
				rest[name], left[name], changed = n-take, left[name]-take, true
			}
		}
		switch amounts := resources.FromMap(rest); {
		case !changed:
		case amounts.IsZero():
			commands = append(commands, scheduler.Release{App: x.Application().ID(), Key: x.Key(), Type: scheduler.StoppedByRM})
		default:
			commands = append(commands, resized(x, amounts)...)
		}
	}
	for _, n := range left {
		if n > 0 {
			return nil
		}
	}
	return commands
}

// allocationsOf returns the allocations that a change may free something of. Placeholders and members of gangs are left
// out: their size has a meaning to others.
func allocationsOf(p *objects.Partition, c explain.GateChange) (all []*objects.Allocation) {
	for _, n := range p.Nodes() {
		for _, x := range n.Allocations() {
			a := x.Application()
			within := true
			switch c.Action {
			case explain.FreeInQueue:
				within = strings.HasPrefix(string(a.Queue().Path())+".", string(c.Queue)+".")
			case explain.FreeOfLimit:
				within = slices.ContainsFunc(a.Quota().Memberships(), func(m quota.Membership) bool {
					return m.Account().UserOrGroup() == c.UserOrGroup() && m.Account().Queue().Path() == string(c.Queue)
				})
			case explain.FreeInCluster:
				within = n.Total().Covers(n.Allocated())
			case explain.FreeOnNode:
				within = n.ID() == c.Node
			}
			if within && x.Ask().TaskGroup() == "" && !p.Preempting(x) {
				all = append(all, x)
			}
		}
	}
	return all
}

// moved moves the application of a change to the first leaf that takes it; nil: none does.
func moved(p *objects.Partition, c explain.GateChange) []scheduler.Command {
	a, _ := p.Application(objects.AppID(c.Subject))
	var leaf func(*objects.Queue) *objects.Queue
	leaf = func(q *objects.Queue) *objects.Queue {
		if q.Leaf() && q != a.Queue() && gangscheduling.CheckMove(p, a, q) == nil {
			return q
		}
		for _, child := range q.Children() {
			if found := leaf(child); found != nil {
				return found
			}
		}
		return nil
	}
	if to := leaf(p.Root()); to != nil {
		return []scheduler.Command{scheduler.Operate{Action: scheduler.MoveApplication, App: a.ID(), Queue: to.Path()}}
	}
	return nil
}

func untainted(p *objects.Partition, c explain.GateChange) []scheduler.Command {
	n, _ := p.Node(c.Node)
	attributes := maps.Clone(n.Attributes())
	var taints, kept []constraints.Taint
	if err := json.Unmarshal([]byte(attributes[constraints.TaintsAttribute]), &taints); err != nil {
		panic(err)
	}
	for _, taint := range taints {
		if !slices.Contains(c.Candidates, taint.String()) {
			kept = append(kept, taint)
		}
	}
	text, _ := json.Marshal(kept)
	attributes[constraints.TaintsAttribute] = string(text)
	return []scheduler.Command{scheduler.SetAttributes{Node: c.Node, Attributes: attributes}}
}

// raised returns a configuration with a raised bound; nil: the queue is not in the configuration.
func raised(p *objects.Partition, c explain.GateChange) []scheduler.Command {
	conf := p.Config()
	root, found := withRaised(conf.Root, c.Queue, objects.QueuePath(conf.Root.Name), func(q *configs.Queue) {
		switch c.Action {
		case explain.RaiseQueueMax:
			q.Max = overwrittenLimit(q.Max, c.Amounts)
		case explain.RaiseQueueMaxApplications:
			q.MaxApplications = c.Count
		default:
			q.Limits = raisedLimits(q.Limits, c)
		}
	})
	if !found {
		return nil
	}
	conf.Root = root
	return []scheduler.Command{scheduler.UseConfig{Partition: conf}}
}

func withRaised(q configs.Queue, path, at objects.QueuePath, change func(*configs.Queue)) (configs.Queue, bool) {
	if path == at {
		change(&q)
		return q, true
	}
	for i := range q.Children {
		if changed, found := withRaised(q.Children[i], path, at+"."+objects.QueuePath(q.Children[i].Name), change); found {
			q.Children = slices.Clone(q.Children)
			q.Children[i] = changed
			return q, true
		}
	}
	return q, false
}

func raisedLimits(list []limits.Limit, c explain.GateChange) []limits.Limit {
	list = slices.Clone(list)
	names := func(l limits.Limit) []string {
		if c.Group != "" {
			return l.Groups
		}
		return l.Users
	}
	i := slices.IndexFunc(list, func(l limits.Limit) bool { return slices.Contains(names(l), c.UserOrGroup().Name) })
	if i < 0 {
		i = slices.IndexFunc(list, func(l limits.Limit) bool { return slices.Contains(names(l), limits.Wildcard) })
	}
	if c.Action == explain.RaiseLimit {
		list[i].MaxResources = overwrittenLimit(list[i].MaxResources, c.Amounts)
	} else {
		list[i].MaxApplications = c.Count
	}
	return list
}

func overwrittenLimit(l resources.Limit, amounts resources.Amounts) resources.Limit {
	all := l.Map()
	maps.Copy(all, amounts.Map())
	return resources.LimitFromMap(all)
}
