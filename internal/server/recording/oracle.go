package recording

import (
	"encoding/binary"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/reservation"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// abilitiesOf are the questions that an Oracle answers. scheduler.NoPredicates is none: a Core does not call it.
func abilitiesOf(o scheduler.Oracle) (a Abilities) {
	switch o.(type) {
	case nil, scheduler.NoPredicates:
		return 0
	}
	a = AnswersFits
	if _, ok := o.(scheduler.BatchOracle); ok {
		a |= AnswersFitsEach
	}
	if _, ok := o.(preemption.PreemptionOracle); ok {
		a |= AnswersFitsWithout
	}
	if _, ok := o.(reservation.ReservationOracle); ok {
		a |= AnswersFitsWhenFree
	}
	return a
}

// allAbilities is an Oracle that answers all questions.
type allAbilities interface {
	scheduler.BatchOracle
	preemption.PreemptionOracle
	reservation.ReservationOracle
}

// withAbilities is o, or nil, with some of its methods: a Core asks an Oracle what it has methods for.
func withAbilities(o allAbilities, a Abilities) scheduler.Oracle {
	if a == 0 {
		return nil
	}
	type (
		fits    = scheduler.Oracle
		batch   = scheduler.BatchOracle
		without = preemption.PreemptionOracle
		free    = reservation.ReservationOracle
	)
	switch a &^ AnswersFits {
	case AnswersFitsEach:
		return struct{ batch }{o}
	case AnswersFitsWithout:
		return struct {
			fits
			without
		}{o, o}
	case AnswersFitsWhenFree:
		return struct {
			fits
			free
		}{o, o}
	case AnswersFitsEach | AnswersFitsWithout:
		return struct {
			batch
			without
		}{o, o}
	case AnswersFitsEach | AnswersFitsWhenFree:
		return struct {
			batch
			free
		}{o, o}
	case AnswersFitsWithout | AnswersFitsWhenFree:
		return struct {
			fits
			without
			free
		}{o, o, o}
	case AnswersFitsEach | AnswersFitsWithout | AnswersFitsWhenFree:
		return o
	}
	return struct{ fits }{o}
}

// listeningOracle hands questions on, and has the questions and answers of the current step. Questions outside of a
// step come from explanations and dry runs, which change nothing.
type listeningOracle struct {
	to        scheduler.Oracle
	inStep    bool
	questions []byte // for the digest
	answers   []byte // one after the other: 0 or 1, or 2 and a list
}

func (l *listeningOracle) begin() {
	l.inStep, l.questions, l.answers = true, l.questions[:0], l.answers[:0]
}

// heard ends a step, and returns its questions and answers. l may be nil.
func (l *listeningOracle) heard() (questions, answers []byte) {
	if l == nil {
		return nil, nil
	}
	l.inStep = false
	return l.questions, l.answers
}

// Fits implements scheduler.Oracle.
func (l *listeningOracle) Fits(ask objects.AllocationKey, node objects.NodeID) bool {
	return l.answered(l.to.Fits(ask, node), 'f', ask, node, nil)
}

// FitsWhenFree implements reservation.ReservationOracle.
func (l *listeningOracle) FitsWhenFree(ask objects.AllocationKey, node objects.NodeID) bool {
	return l.answered(l.to.(reservation.ReservationOracle).FitsWhenFree(ask, node), 'r', ask, node, nil)
}

// FitsWithout implements preemption.PreemptionOracle.
func (l *listeningOracle) FitsWithout(ask objects.AllocationKey, node objects.NodeID,
	victims []objects.AllocationKey) bool {
	return l.answered(l.to.(preemption.PreemptionOracle).FitsWithout(ask, node, victims), 'p', ask, node, victims)
}

// FitsEach implements scheduler.BatchOracle.
func (l *listeningOracle) FitsEach(ask objects.AllocationKey, nodes []objects.NodeID) []bool {
	fits := l.to.(scheduler.BatchOracle).FitsEach(ask, nodes)
	if l.inStep {
		l.questions = appendNames(appendName(append(l.questions, 'b'), ask), nodes)
		l.answers = binary.AppendUvarint(append(l.answers, 2), uint64(len(fits)))
		for _, is := range fits {
			l.answers = appendAnswer(l.answers, is)
		}
	}
	return fits
}

func (l *listeningOracle) answered(is bool, kind byte, ask objects.AllocationKey, node objects.NodeID,
	victims []objects.AllocationKey) bool {
	if l.inStep {
		l.questions = appendNames(appendName(appendName(append(l.questions, kind), ask), node), victims)
		l.answers = appendAnswer(l.answers, is)
	}
	return is
}

func appendNames[S ~string](b []byte, names []S) []byte {
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range names {
		b = appendName(b, name)
	}
	return b
}

func appendAnswer(b []byte, is bool) []byte {
	if is {
		return append(b, 1)
	}
	return append(b, 0)
}
