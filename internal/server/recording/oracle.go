package recording

import (
	"encoding/binary"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// abilitiesOf returns the questions that an Oracle answers; 0: there is no Oracle.
func abilitiesOf(o *objects.Oracle) (a Abilities) {
	if o == nil {
		return 0
	}
	a = AnswersFits
	if o.FitsEach != nil {
		a |= AnswersFitsEach
	}
	if o.FitsWithout != nil {
		a |= AnswersFitsWithout
	}
	if o.FitsWhenFree != nil {
		a |= AnswersFitsWhenFree
	}
	return a
}

// withAbilities returns an Oracle that answers only some of the questions of o; nil: none.
func withAbilities(o objects.Oracle, a Abilities) *objects.Oracle {
	if a == 0 {
		return nil
	}
	if a&AnswersFitsEach == 0 {
		o.FitsEach = nil
	}
	if a&AnswersFitsWithout == 0 {
		o.FitsWithout = nil
	}
	if a&AnswersFitsWhenFree == 0 {
		o.FitsWhenFree = nil
	}
	return &o
}

// listeningOracle hands questions on, and has the questions and answers of the current step. Questions outside of a
// step come from explanations and dry runs, which change nothing.
type listeningOracle struct {
	to        *objects.Oracle
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

// oracle returns an Oracle whose questions and answers l hears.
func (l *listeningOracle) oracle() objects.Oracle {
	return objects.Oracle{Fits: l.fits, FitsEach: l.fitsEach, FitsWithout: l.fitsWithout, FitsWhenFree: l.fitsWhenFree}
}

func (l *listeningOracle) fits(ask objects.AllocationKey, node objects.NodeID) bool {
	return l.answered(l.to.Fits(ask, node), 'f', ask, node, nil)
}

func (l *listeningOracle) fitsWhenFree(ask objects.AllocationKey, node objects.NodeID) bool {
	return l.answered(l.to.FitsWhenFree(ask, node), 'r', ask, node, nil)
}

func (l *listeningOracle) fitsWithout(ask objects.AllocationKey, node objects.NodeID,
	victims []objects.AllocationKey) bool {
	return l.answered(l.to.FitsWithout(ask, node, victims), 'p', ask, node, victims)
}

func (l *listeningOracle) fitsEach(ask objects.AllocationKey, nodes []objects.NodeID) []bool {
	fits := l.to.FitsEach(ask, nodes)
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
