package effectlog

import (
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// maxVictims bounds the victims that a line lists; it counts all of them.
const maxVictims = 20

// victimGroup is the victims of one preemption (OBS-73). The core reports them one after the other,
// and then the nominated ask, if there is one.
type victimGroup struct {
	count      int
	victimKeys []string // key and queue of the first maxVictims victims
	first      scheduler.Event
	nodes      []string        // nodes of the victims, each once, at most maxVictims
	seenNodes  map[string]bool // set of nodes
}

func (p *victimGroup) add(e *scheduler.Event) {
	if p.count == 0 {
		*p = victimGroup{first: *e, seenNodes: map[string]bool{}}
	}
	p.count++
	if len(p.victimKeys) < maxVictims {
		p.victimKeys = append(p.victimKeys, string(e.Subject.Key)+" in "+string(e.Subject.Queue))
	}
	if n := string(e.Node); !p.seenNodes[n] && len(p.nodes) < maxVictims {
		p.seenNodes[n] = true
		p.nodes = append(p.nodes, n)
	}
}

// sameGroup reports whether e is another victim of the same preemption.
func (p *victimGroup) sameGroup(e *scheduler.Event) bool {
	return p.first.Preemptor == e.Preemptor && p.first.Reason == e.Reason && p.first.Message == e.Message
}

// victimFields are the fields about the victims.
func (p *victimGroup) victimFields() []zap.Field {
	return []zap.Field{zap.Int("victims", p.count), zap.Strings("victimKeys", p.victimKeys)}
}

// preemptionEvent writes an event about preemption, a reservation or an orphaned allocation.
func (w *writer) preemptionEvent(e *scheduler.Event) {
	switch e.Kind {
	case scheduler.EventPreempted:
		if w.victims.count > 0 && !w.victims.sameGroup(e) {
			w.endPreemption()
		}
		w.victims.add(e)
	case scheduler.EventNominated:
		w.nominated(e)
	case scheduler.EventNominationEnded:
		w.nominationEnded(e)
	case scheduler.EventOverdue:
		w.log.Warn("victim overdue: it was preempted long ago, and still runs", append(w.askFields(e), node(e.Node),
			amounts("amounts", e.Amounts), zap.Time("since", e.Since))...)
	case scheduler.EventOrphaned:
		w.log.Warn("allocation orphaned: its application does not take it, and its node holds its resources", w.partition,
			key(e.Subject.Key),
			application(e.Subject.App), node(e.Node), amounts("amounts", e.Amounts), reason(e.Message))
	case scheduler.EventReserved:
		w.log.Info("node reserved for an ask", append(w.askFields(e), node(e.Node), amounts("amounts", e.Amounts))...)
	case scheduler.EventReservationEnded:
		w.reservationEnded(e)
	case scheduler.EventReservationsMoved:
		w.log.Info("reservations of a gang moved to better nodes", w.partition, application(e.Subject.App),
			queue(e.Subject.Queue),
			zap.Int("members", len(e.Moved)))
	case scheduler.EventNodeRefused:
		w.log.Warn("node refused an allocation: its ask is kept away",
			append(w.askFields(e), node(e.Node), zap.Bool("allOfShape", e.OfShape), zap.Int("backOff", e.Count),
				zap.Time("until", e.Until), reason(e.Message))...)
	case scheduler.EventNodeRefusalEnded:
		w.log.Info("node may get an ask again that it refused", w.partition, key(e.Subject.Key), application(e.Subject.App),
			node(e.Node),
			zap.Bool("allOfShape", e.OfShape), zap.Time("since", e.Since), reason(e.Message))
	case scheduler.EventPreemptionCycle:
		if e.Until.IsZero() {
			w.log.Warn("preemption cycle", w.partition, zap.Stringer("queues", e.Cycle))
			return
		}
		w.log.Warn("preemption cycle: its queues are in cool-down", w.partition, zap.Stringer("queues", e.Cycle),
			zap.Time("coolDownUntil", e.Until))
	case scheduler.EventCoolDownEnded:
		w.log.Info("preemption cycle: the cool-down has ended", w.partition, zap.Stringer("queues", e.Cycle),
			zap.Time("since", e.Since))
	}
}

// askFields are the fields about the ask or allocation of an event.
func (w *writer) askFields(e *scheduler.Event) []zap.Field {
	return []zap.Field{w.partition, key(e.Subject.Key), application(e.Subject.App), queue(e.Subject.Queue),
		zap.Int32("priority", e.Priority)}
}

// nominated writes that an ask is nominated to a node, with its victims.
func (w *writer) nominated(e *scheduler.Event) {
	p := &w.victims
	if p.count > 0 && p.first.Preemptor != e.Subject {
		w.endPreemption()
	}
	fields := append(w.askFields(e), node(e.Node), amounts("amounts", e.Amounts),
		zap.Stringer("preemptionReason", e.Reason))
	if p.count == 0 {
		w.log.Info("ask nominated: it waits for a node without victims of its own", fields...)
		return
	}
	w.log.Info("preemption for an ask", append(fields, p.victimFields()...)...)
	p.count = 0
}

// endPreemption writes a preemption without a nominated ask: for a max or a node that is
// exceeded, or for an operator.
func (w *writer) endPreemption() {
	p := &w.victims
	if p.count == 0 {
		return
	}
	w.log = w.to.preemption
	fields := append([]zap.Field{w.partition, zap.Stringer("preemptionReason", p.first.Reason),
		zap.Strings("nodes", p.nodes), reason(p.first.Message)}, p.victimFields()...)
	switch p.first.Reason {
	case victim.ReasonNodePressure:
		w.log.Info("preemption for a node that has less than its allocations hold", fields...)
	case victim.ReasonOperator:
		w.log.Info("preemption as an operator ordered", fields...)
	default:
		w.log.Info("preemption for a queue above its max", fields...)
	}
	p.count = 0
}

func (w *writer) nominationEnded(e *scheduler.Event) {
	fields := append(w.askFields(e), node(e.Node), zap.Time("since", e.Since), reason(e.Message))
	switch e.NominationEnd {
	case preemption.NominationPlaced:
		w.log.Info("nominated ask placed", fields...)
		return
	case preemption.NominationTimedOut:
		w.log.Warn("nomination timed out: the victims have not ended", fields...)
		return
	}
	fields = append(fields, zap.Stringer("end", e.NominationEnd))
	if e.Preemptor != (scheduler.AllocationRef{}) {
		fields = append(fields, zap.String("by", string(e.Preemptor.Key)), zap.String("byQueue", string(e.Preemptor.Queue)))
	}
	w.log.Info("nomination ended without placement", fields...)
}

// reservationEnded writes a warning if the reservation has held resources for nothing.
func (w *writer) reservationEnded(e *scheduler.Event) {
	fields := append(w.askFields(e), node(e.Node), zap.Time("since", e.Since))
	if e.ReservationEnd == objects.ReservationTimedOut {
		w.log.Warn("reservation timed out: the node has never had enough free", fields...)
		return
	}
	w.log.Info("reservation ended", append(fields, zap.Stringer("end", e.ReservationEnd))...)
}
