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

// priorityClassTag names the priority class of an ask. Nothing behind the door reads it: the name that
// class quotas count by is that of the class which was found.
const priorityClassTag = common.DomainK8s + common.GroupMeta + "priorityClassName"

var denyAllUsers = security.AllowList(nil, nil)

// priorityRequest is what an allocation says about its priority.
func priorityRequest(x *wire.Allocation) priorities.Request {
	return priorities.Request{
		Class: x.Tags[priorityClassTag], Priority: x.Priority, HasPolicy: x.Policy.Sent(), Preempts: x.Policy.AllowPreemptOther(),
	}
}

// submitCommand gives a new ask its number, and says what its class demands. Whether the key
// is new only the partition knows, so it is the partition that refuses.
func (b *commandBatch) submitCommand(ask *objects.Ask, x *wire.Allocation) scheduler.Command {
	g, problem := b.classes().Admit(priorityRequest(x), b.s.p.opt.StrictClasses)
	if problem != nil {
		return scheduler.SubmitAskWithClass{Ask: ask, NamedClass: x.Tags[priorityClassTag], RejectReason: problem.Error(), RejectKind: scheduler.Rejection(problem.Reason)}
	}
	applyGrant(ask, g)
	if g.Class == nil {
		return scheduler.SubmitAsk{Ask: ask}
	}
	return scheduler.SubmitAskWithClass{Ask: ask, Class: g.Class.Name, NamedClass: x.Tags[priorityClassTag], AllowedUsers: classUsers(g.Class, x)}
}

// classUsers is the list of users that a class has for those who name it; nil: none. Requires: the
// ask is of the class.
func classUsers(c *priorities.Class, x *wire.Allocation) *security.ACL {
	switch {
	case x.Tags[priorityClassTag] == "":
		return nil // it is of the default class, which nobody has to name
	case c.SubmitACL == nil && c.IsSystem():
		return &denyAllUsers
	}
	return c.SubmitACL
}

// reportCommand gives what runs already its number. It is of the class that it names, whatever
// has become of the class: Kubernetes counts what runs by its name, too.
func (b *commandBatch) reportCommand(ask *objects.Ask, x *wire.Allocation) scheduler.Command {
	applyGrant(ask, b.classes().AdmitRecovered(priorityRequest(x)))
	class := x.Tags[priorityClassTag]
	if names.SubdomainProblem(class) != "" {
		class = "" // it never was of a class
	}
	return scheduler.ReportAllocation{Ask: ask, Node: objects.NodeID(x.Node), Class: class}
}

// applyGrant writes down what was found out. The class decides whether the ask may have victims;
// one that says nothing about itself may be a victim, as in Kubernetes (priority.md D1).
func applyGrant(ask *objects.Ask, g priorities.Admission) {
	ask.Priority = g.Priority
	if g.Class == nil {
		return
	}
	if !ask.Policy.Sent() {
		ask.Policy = objects.PolicySent | objects.PolicyAllowPreemptSelf
	}
	ask.Policy = ask.Policy.With(objects.PolicyAllowPreemptOther, g.Preempts)
}

// classes are those in force when the first ask of a message is read.
func (b *commandBatch) classes() *priorities.Registry {
	if b.registry == nil {
		b.registry = &b.s.p.cluster.Config().Classes
	}
	return b.registry
}
