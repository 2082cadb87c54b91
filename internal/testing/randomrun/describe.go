package randomrun

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func (s Run) String() string {
	var b strings.Builder
	fmt.Fprintf(
		&b, "seed %d, %d steps, oracle: %s, %d shapes, lifetimes %v\n%s",
		s.Seed, len(s.Steps), s.Oracle, s.Shapes, s.Lifetimes, describePartition(s.Partition),
	)
	for i, step := range s.Steps {
		fmt.Fprintf(&b, "%3d %s\n", i, step)
	}
	return b.String()
}

func (b Step) String() string {
	if b.Command == nil {
		return fmt.Sprintf("+%s schedule %d", b.After, b.Budget)
	}
	return fmt.Sprintf("+%s %s", b.After, describe(b.Command))
}

func describe(cmd scheduler.Command) string {
	switch c := cmd.(type) {
	case scheduler.UseConfig:
		return "use config\n" + describePartition(c.Partition)
	case scheduler.SubmitAsk:
		return "ask " + DescribeAsk(c.Ask)
	case scheduler.SubmitAskWithClass:
		return fmt.Sprintf("ask of class %q for %v, against it %q: %s", c.Class, c.AllowedUsers, c.RejectReason,
			DescribeAsk(c.Ask))
	case scheduler.ReportAllocation:
		return fmt.Sprintf("report on %s of class %q %s", c.Node, c.Class, DescribeAsk(c.Ask))
	}
	return fmt.Sprintf("%T%+v", cmd, cmd)
}

// DescribeAsk returns an ask as text.
func DescribeAsk(a *objects.Ask) string {
	s := fmt.Sprintf("%s (%s) %s priority=%d", a.Key, a.App, a.Amounts, a.Priority)
	if !a.Created.IsZero() {
		s += fmt.Sprintf(" created=%s", a.Created.Time().Sub(StartTime()))
	}
	if a.RequiredNode() != "" {
		s += " only on " + string(a.RequiredNode())
	}
	if a.Placeholder {
		s += fmt.Sprintf(" placeholder of %q", a.TaskGroup())
	} else if a.TaskGroup() != "" {
		s += fmt.Sprintf(" of task group %q", a.TaskGroup())
	}
	if len(a.Tags()) > 0 {
		s += fmt.Sprintf(" tags %q", a.Tags())
	}
	return s
}

func describePartition(p configs.Partition) string {
	s := fmt.Sprintf("\tnodes %s %v\n", p.NodeSortPolicy.Sort, p.NodeSortPolicy.Weights)
	if len(p.ClassesNeedingQuota) > 0 {
		s += fmt.Sprintf("\ta quota is needed for %v\n", p.ClassesNeedingQuota)
	}
	if p.NominationTimeout > 0 {
		s += fmt.Sprintf("\tpreemption waits %s\n", p.NominationTimeout)
	}
	if p.NodePressureEnabled {
		s += fmt.Sprintf("\tnode pressure, grace %s\n", p.NodePressureGrace)
	}
	if p.PriorityDisabled {
		s += "\tpriority disabled\n"
	}
	if p.Churn.Cycles > 0 {
		s += fmt.Sprintf("\tchurn %+v\n", p.Churn)
	}
	if p.Reservation.Enabled {
		r := &p.Reservation
		s += fmt.Sprintf("\treservation {Enabled:%t Delay:%v Timeout:%v NodePercent:%d}\n", r.Enabled, r.Delay, r.Timeout,
			r.NodePercent)
		if r.Backfill != configs.BackfillOff {
			s += fmt.Sprintf("\tbackfill %v, %d asks, %d nodes\n", r.Backfill, r.BackfillAsks, r.BackfillNodes)
		}
	}
	if p.NodeRefusal.Backoff > 0 {
		s += fmt.Sprintf("\tnoderefusal %+v\n", p.NodeRefusal)
	}
	for _, b := range p.Budgets.All() {
		s += fmt.Sprintf("\tbudget %s for %s: %s\n", b.ID(), b.Selector, b.Allowance)
	}
	return s + describeQueue(&p.Root, "\t")
}

func describeQueue(q *configs.Queue, indent string) string {
	s := indent + q.Name
	if !q.Parent {
		s += " leaf " + q.AppSort.String()
	}
	if !q.Max.IsUnlimited() {
		s += " " + q.Max.String()
	}
	if !q.Guaranteed.IsEmpty() {
		s += " " + q.Guaranteed.String()
	}
	if q.PriorityPolicy == policies.PriorityFence {
		s += " fenced"
	}
	if q.PriorityOffset != 0 {
		s += fmt.Sprintf(" offset=%d", q.PriorityOffset)
	}
	if q.PrioritySort == policies.PriorityIgnored {
		s += " priority ignored"
	}
	if acl := q.SubmitACL.String(); acl != "" {
		s += fmt.Sprintf(" submit=%q", acl)
	}
	if acl := q.AdminACL.String(); acl != "" {
		s += fmt.Sprintf(" admin=%q", acl)
	}
	if q.MaxApplications > 0 {
		s += fmt.Sprintf(" maxapplications=%d", q.MaxApplications)
	}
	for _, r := range q.Limits {
		s += fmt.Sprintf(" limit(users %q groups %q %v apps %d)", r.Users, r.Groups, r.MaxResources, r.MaxApplications)
	}
	for _, x := range q.ClassQuotas {
		s += fmt.Sprintf(" quota %s(%s users %q groups %q %v)", x.Name, x.Match, x.Users, x.Groups, x.Hard)
	}
	s += fmt.Sprintf(" preemption %s, by priority %s", q.PreemptionPolicy, q.PriorityPreemption)
	if q.PreemptionGuarantee != policies.PreemptionGuaranteeAll {
		s += ", by guarantee in what it is " + q.PreemptionGuarantee.String()
	}
	if q.FairShare {
		s += ", by fair share"
	}
	if q.MinRuntime > 0 {
		s += fmt.Sprintf(", minimum run time %s, strict %t", q.MinRuntime, q.MinRuntimeStrict)
	}
	if q.Ageing.By > 0 {
		s += fmt.Sprintf(", ageing %s", q.Ageing)
	}
	if q.Fairness != (policies.Fairness{}) {
		s += fmt.Sprintf(", half-life %s by %s, weight %d", q.Fairness.HalfLife, q.Fairness.By, q.Fairness.Weight)
	}
	s += "\n"
	for i := range q.Children {
		s += describeQueue(&q.Children[i], indent+"\t")
	}
	return s
}
