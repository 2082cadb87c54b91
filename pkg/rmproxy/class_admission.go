package rmproxy

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/pkg/names"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// priorityClassTag is the tag with the name of the priority class of an ask. Only this package
// reads it: class quotas count by the name of the class that was resolved from it.
const priorityClassTag = common.DomainK8s + common.GroupMeta + "priorityClassName"

// priorityRequest returns what an allocation message says about priority and preemption.
func priorityRequest(x *wire.Allocation) priorities.Request {
	return priorities.Request{
		Class: x.Tags[priorityClassTag], Priority: x.Priority, HasPolicy: x.Policy.Sent(),
		Preempts: x.Policy.AllowPreemptOther(),
	}
}

// submitCommand resolves the priority class of an ask and sets its priority (PRI-4, PRI-37). A
// rejection is part of the command, because only the partition knows whether the key is new: a
// known ask is not rejected.
func (b *commandBatch) submitCommand(ask *objects.Ask, x *wire.Allocation) scheduler.Command {
	g, problem := priorities.Admit(*b.classes(), priorityRequest(x), b.s.p.opt.StrictClasses)
	if problem != nil {
		return scheduler.SubmitAskWithClass{Ask: ask, NamedClass: x.Tags[priorityClassTag], RejectReason: problem.Error(),
			RejectKind: scheduler.Rejection(problem.Reason)}
	}
	applyGrant(ask, g)
	if g.Class == nil {
		return scheduler.SubmitAsk{Ask: ask}
	}
	return scheduler.SubmitAskWithClass{Ask: ask, Class: g.Class.Name, NamedClass: x.Tags[priorityClassTag],
		AllowedUsers: classUsers(g.Class, x)}
}

// classUsers are the users that may submit an ask of a class; nil: every user may (PRI-44).
func classUsers(c *priorities.Class, x *wire.Allocation) *security.ACL {
	if x.Tags[priorityClassTag] == "" {
		return nil // the default class need not be named, and its ACL is not checked
	}
	return c.AllowedUsers()
}

// reportCommand sets the priority of an allocation that runs already (PRI-46). Its class is the one
// that it names, even if that class does not exist any more: Kubernetes counts running pods by the
// name of their class, too.
func (b *commandBatch) reportCommand(ask *objects.Ask, x *wire.Allocation) scheduler.Command {
	applyGrant(ask, priorities.AdmitRecovered(*b.classes(), priorityRequest(x)))
	class := x.Tags[priorityClassTag]
	if names.SubdomainProblem(class) != "" {
		class = "" // such a class cannot exist
	}
	return scheduler.ReportAllocation{Ask: ask, Node: objects.NodeID(x.Node), Class: class}
}

// applyGrant copies the admission into the ask (PRI-4, PRI-40). The class decides whether the ask
// may preempt others; an ask without a policy may be preempted, as in Kubernetes.
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

// classes are the priority classes in force when the first ask of the message is read (PRI-45).
func (b *commandBatch) classes() *priorities.Registry {
	if b.registry == nil {
		b.registry = &b.s.p.cluster.Config().Classes
	}
	return b.registry
}
