package rmproxy

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"

	"github.com/canopy-scheduler/canopy/internal/wire"
	"github.com/canopy-scheduler/canopy/pkg/names"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// classTag names the priority class of an ask. Nothing behind the door reads it: the name that
// class quotas count by is that of the class which was found.
const classTag = common.DomainK8s + common.GroupMeta + "priorityClassName"

var notForUsers = security.AllowList(nil, nil)

// wish is what an allocation says about its priority.
func wish(x *wire.Allocation) priorities.Request {
	return priorities.Request{
		Class: x.Tags[classTag], Priority: x.Priority, Policy: x.Policy.Sent(), Preempts: x.Policy.Other(),
	}
}

// submission gives a new ask its number, and says what its class demands. Whether the key
// is new only the partition knows, so it is the partition that refuses.
func (o *orders) submission(ask *objects.Ask, x *wire.Allocation) scheduler.Command {
	g, problem := o.classes().Admit(wish(x), o.s.p.opt.StrictClasses)
	if problem != nil {
		return scheduler.SubmitClassed{Ask: ask, Named: x.Tags[classTag], Refuse: problem.Error(), Kind: scheduler.Rejection(problem.Reason)}
	}
	stamp(ask, g)
	if g.Class == nil {
		return scheduler.SubmitAsk{Ask: ask}
	}
	return scheduler.SubmitClassed{Ask: ask, Class: g.Class.Name, Named: x.Tags[classTag], Users: demanded(g.Class, x)}
}

// demanded is the list of users that a class has for those who name it; nil: none. Requires: the
// ask is of the class.
func demanded(c *priorities.Class, x *wire.Allocation) *security.ACL {
	switch {
	case x.Tags[classTag] == "":
		return nil // it is of the default class, which nobody has to name
	case c.Submit == nil && c.IsSystem():
		return &notForUsers
	}
	return c.Submit
}

// recollection gives what runs already its number. It is of the class that it names, whatever
// has become of the class: Kubernetes counts what runs by its name, too.
func (o *orders) recollection(ask *objects.Ask, x *wire.Allocation) scheduler.Command {
	stamp(ask, o.classes().Recall(wish(x)))
	class := x.Tags[classTag]
	if names.NotSubdomain(class) != "" {
		class = "" // it never was of a class
	}
	return scheduler.ReportAllocation{Ask: ask, Node: objects.NodeID(x.Node), Class: class}
}

// stamp writes down what was found out. The class decides whether the ask may have victims;
// one that says nothing about itself may be a victim, as in Kubernetes (priority.md D1).
func stamp(ask *objects.Ask, g priorities.Grant) {
	ask.Priority = g.Priority
	if g.Class == nil {
		return
	}
	if !ask.Policy.Sent() {
		ask.Policy = objects.PolicySent | objects.PolicySelf
	}
	ask.Policy = ask.Policy.With(objects.PolicyOther, g.Preempts)
}

// classes are those in force when the first ask of a message is read.
func (o *orders) classes() *priorities.Registry {
	if o.registry == nil {
		o.registry = &o.s.p.cluster.Config().Classes
	}
	return o.registry
}
