package preemption

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// A nomination ends when the ask is placed, when the node or the ask is lost, when it is given up, and when
// it times out (PRE-79 to PRE-81).

// giveUpNomination ends the nomination of x; the caller must have logged the end in the preemption history. If all asks
// of its group were nominated, the group backs off: evaluated at once it could preempt for the same node again, each
// time without a result (PRE-80).
func (eng *Engine) giveUpNomination(x *objects.Allocation, now time.Time) {
	eng.addNewGroups() // the group of x may be among them
	group := x.AskGroup()
	if eng.firstWithoutNomination(group) == nil {
		group.PreemptorListed = true
		eng.toEvaluate = slices.DeleteFunc(eng.toEvaluate, func(e *evaluation) bool { return e.group == group })
		eng.backOff.add(&evaluation{group: group, evaluatedAt: now, reasons: -1, nominationGivenUp: true}, time.Time{})
	}
	eng.part.ClearNomination(x)
}

// RecordEnded reports the nominations that a command or a placement has ended, with a reason derived from the state. It
// records in the log which asks were placed or cancelled, and that victims have ended as end says. It must be called
// after each command and after each placement.
func (eng *Engine) RecordEnded(end VictimEnd, now time.Time) {
	eng.reportEndedNominations(NominationWaiting, nil, "", now)
	eng.recordEnded(end, now)
}

// reportEndedNominations reports the nominations that have ended since its last call. With end NominationWaiting it
// derives the reason from the state; otherwise end, lostTo (the ask that has the node now) and message give the reason.
func (eng *Engine) reportEndedNominations(end NominationState, lostTo *objects.Allocation, message string,
	now time.Time) {
	for _, l := range take(&eng.changes.endedNominations) {
		end, message := end, message
		if end == NominationWaiting {
			end = eng.nominationEnd(l)
			if end == NominationPlaced {
				message = "placed on node " + string(l.Ask.Node().ID())
			}
			eng.log.endNomination(l.Ask, Nomination{State: end, EndedAt: objects.TimestampOf(now)})
		}
		eng.host.OnNominationEnd(l, end, lostTo, message)
		eng.recordNominationEnd(l.Ask, end, now)
	}
}

// nominationEnd derives from the state why a nomination has ended (PRE-79).
func (eng *Engine) nominationEnd(l EndedNomination) NominationState {
	x, known := eng.part.Allocation(l.Ask.Key())
	n, nodeKnown := eng.part.Node(l.Node.ID())
	switch {
	case !known || x != l.Ask:
		return NominationCancelled
	case !x.Pending():
		return NominationPlaced
	case !nodeKnown || n != l.Node || !n.Accepts(x.Shape()):
		return NominationNodeLost
	}
	return NominationResized
}
