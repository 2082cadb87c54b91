package effectlog

import (
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// mostVictims is how many victims a line names; it counts all of them.
const mostVictims = 20

// preempted is the victims of one preemption. The core names them one after the other, and after
// them the ask that preempted, if there is one.
type preempted struct {
	count  int
	named  []string // key and queue of the first ones
	first  scheduler.Noted
	nodes  []string        // where they run, without repetition; as many as are named
	onNode map[string]bool // nodes, for a look
}

func (p *preempted) add(e *scheduler.Noted) {
	if p.count == 0 {
		*p = preempted{first: *e, onNode: map[string]bool{}}
	}
	if p.count++; len(p.named) < mostVictims {
		p.named = append(p.named, string(e.Who.Key)+" in "+string(e.Who.Queue))
	}
	if n := string(e.Node); !p.onNode[n] && len(p.nodes) < mostVictims {
		p.onNode[n] = true
		p.nodes = append(p.nodes, n)
	}
}

// together reports whether the victim of e belongs to those of p.
func (p *preempted) together(e *scheduler.Noted) bool {
	return p.first.By == e.By && p.first.Right == e.Right && p.first.Why == e.Why
}

// victims are the fields about those who were told to end.
func (p *preempted) victims() []zap.Field {
	return []zap.Field{zap.Int("victims", p.count), zap.Strings("victimKeys", p.named)}
}

// noted writes what the core says of preemption.
func (w *writer) noted(e *scheduler.Noted) {
	switch e.What {
	case scheduler.NotePreempted:
		if w.preempted.count > 0 && !w.preempted.together(e) {
			w.endPreemption()
		}
		w.preempted.add(e)
	case scheduler.NoteNominated:
		w.nominated(e)
	case scheduler.NoteNominationEnded:
		w.nominationEnded(e)
	case scheduler.NoteOverdue:
		w.log.Warn("victim overdue: it was preempted long ago, and still runs", append(w.ask(e), node(e.Node),
			amounts("amounts", e.Amounts), zap.Time("since", e.Since))...)
	case scheduler.NoteChurn:
		if e.Until.IsZero() {
			w.log.Warn("preemption cycle", w.partition, zap.Stringer("queues", e.Cycle))
			return
		}
		w.log.Warn("preemption cycle: its queues are paused", w.partition, zap.Stringer("queues", e.Cycle), zap.Time("pausedUntil", e.Until))
	case scheduler.NotePauseEnded:
		w.log.Info("preemption cycle: the pause has ended", w.partition, zap.Stringer("queues", e.Cycle), zap.Time("since", e.Since))
	}
}

// ask is the fields about the ask or allocation of a notice.
func (w *writer) ask(e *scheduler.Noted) []zap.Field {
	return []zap.Field{w.partition, key(e.Who.Key), application(e.Who.App), queue(e.Who.Queue), zap.Int32("priority", e.Priority)}
}

// nominated writes that an ask waits for a node, and which victims end for it.
func (w *writer) nominated(e *scheduler.Noted) {
	p := &w.preempted
	if p.count > 0 && p.first.By != e.Who {
		w.endPreemption()
	}
	fields := append(w.ask(e), node(e.Node), amounts("amounts", e.Amounts), zap.Stringer("right", e.Right))
	if p.count == 0 {
		w.log.Info("ask nominated: it waits for a node without victims of its own", fields...)
		return
	}
	w.log.Info("preemption for an ask", append(fields, p.victims()...)...)
	p.count = 0
}

// endPreemption writes a preemption after which no ask was nominated: for a max or a node that is
// exceeded.
func (w *writer) endPreemption() {
	p := &w.preempted
	if p.count == 0 {
		return
	}
	fields := append([]zap.Field{w.partition, zap.Stringer("right", p.first.Right), zap.Strings("nodes", p.nodes), reason(p.first.Why)}, p.victims()...)
	if p.first.Right == preemption.OfPressure {
		w.log.Info("preemption for a node that has less than its allocations hold", fields...)
	} else {
		w.log.Info("preemption for a queue above its max", fields...)
	}
	p.count = 0
}

func (w *writer) nominationEnded(e *scheduler.Noted) {
	fields := append(w.ask(e), node(e.Node), zap.Time("since", e.Since), reason(e.Why))
	switch e.End {
	case scheduler.NominationKept:
		w.log.Info("nominated ask placed", fields...)
		return
	case scheduler.NominationTimedOut:
		w.log.Warn("nomination timed out: the victims have not made room", fields...)
		return
	}
	fields = append(fields, zap.Stringer("end", e.End))
	if e.By != (scheduler.Party{}) {
		fields = append(fields, zap.String("by", string(e.By.Key)), zap.String("byQueue", string(e.By.Queue)))
	}
	w.log.Info("nomination ended without placement", fields...)
}
