package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// Preemptions returns the preemptions in the log (PRE-109).
func (c *Core) Preemptions() preemption.Preemptions { return c.preemption.Preemptions() }

// Preemption returns the preemption of a number (PRE-111). ok is false if there was none, or if it is no
// longer logged.
func (c *Core) Preemption(number uint64) (r preemption.Preemption, ok bool) {
	return c.preemption.Preemption(number)
}

// PreemptionSearchStats counts the work of victim searches. It is zero before the first search.
func (c *Core) PreemptionSearchStats() victim.SearchStats { return c.preemption.Stats().SearchStats }

// engineHost is a Core as the preemption engine sees it: it answers what scheduling knows, and makes effects
// of what the engine does.
type engineHost struct{ nodeHost }

// FirstFeasibleNode implements preemption.Host.
func (h engineHost) FirstFeasibleNode(x *objects.Allocation) *objects.Node {
	return h.c.firstFeasibleNode(x)
}

// GiveUpVerdict implements preemption.Host.
func (h engineHost) GiveUpVerdict(x *objects.Allocation) string { return h.c.giveUpVerdict(x).String() }

// ConstraintVerdict implements preemption.Host.
func (h engineHost) ConstraintVerdict(c quota.Constraint) string {
	v := Verdict{}
	v.Reason, v.Subject = constraintReason(c, false)
	return v.String()
}

// OnPreempted implements preemption.Host: it emits Released, and then EventPreempted, for each victim (PRE-82).
func (h engineHost) OnPreempted(victims []*objects.Allocation, preemptor *objects.Allocation, reason victim.Reason,
	cause string) {
	n := Event{Kind: EventPreempted, Reason: reason, Message: cause}
	message := fmt.Sprintf("preempted (%s): %s", reason, cause)
	if preemptor != nil {
		n.Preemptor = refOf(preemptor)
		message = fmt.Sprintf("preempted (%s) for ask %s of application %s", reason, preemptor.Key(), preemptor.Ask().App)
	}
	h.c.effects = slices.Grow(h.c.effects, 2*len(victims)+1) // the nomination follows
	for _, y := range victims {
		h.c.emit(Released{y.Key(), y.Ask().App, PreemptedByScheduler, message})
	}
	for _, y := range victims {
		n.Grace = priorities.GracePeriodOf(y.Ask().Tags())
		h.c.emit(n.about(y, y.Node().ID()))
	}
}

// OnNominated implements preemption.Host.
func (h engineHost) OnNominated(x *objects.Allocation, node *objects.Node, reason victim.Reason, victims int) {
	h.c.emit(Event{Kind: EventNominated, Reason: reason, Victims: victims}.about(x, node.ID()))
}

// OnNominationEnd implements preemption.Host.
func (h engineHost) OnNominationEnd(l preemption.EndedNomination, end preemption.NominationState,
	lostTo *objects.Allocation, message string) {
	n := Event{Kind: EventNominationEnded, Since: l.Since, NominationEnd: end, Message: message}
	if lostTo != nil {
		n.Preemptor = refOf(lostTo)
	}
	h.c.emit(n.about(l.Ask, l.Node.ID()))
}

// OnOverdue implements preemption.Host (PRE-88).
func (h engineHost) OnOverdue(y *objects.Allocation, preemptedAt time.Time) {
	h.c.emit(Event{Kind: EventOverdue, Since: preemptedAt}.about(y, y.Node().ID()))
}

// OnCycle implements preemption.Host (PRE-107).
func (h engineHost) OnCycle(cycle preemption.Cycle, until time.Time) {
	h.c.emit(Event{Kind: EventPreemptionCycle, Cycle: cycle, Until: until})
}

// OnCoolDownEnded implements preemption.Host (PRE-107).
func (h engineHost) OnCoolDownEnded(p preemption.CoolDown) {
	cycle := preemption.Cycle{p.A}
	if p.A != p.B {
		cycle = append(cycle, p.B)
	}
	h.c.emit(Event{Kind: EventCoolDownEnded, Cycle: cycle, Since: p.Since})
}

// about is n about an ask or allocation and a node.
func (n Event) about(x *objects.Allocation, node objects.NodeID) Event {
	n.Subject, n.Priority, n.Amounts, n.Node = refOf(x), x.Ask().Priority, x.Ask().Amounts, node
	return n
}
