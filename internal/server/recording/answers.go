package recording

import (
	"encoding/binary"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Answers is an Oracle that answers what the recorded one has answered, for a replay. The zero value has no answers.
type Answers struct {
	// Otherwise answers the questions that have no recorded answer. nil: they are accepted, and a problem of the step.
	Otherwise func(ask objects.AllocationKey, node objects.NodeID) bool
	// OnAnswer gets each question with its answer; it may be nil.
	OnAnswer func(ask objects.AllocationKey, node objects.NodeID, fits bool)

	listener listeningOracle
	left     []byte
	problem  error
}

// Oracle is the Oracle with the abilities that the recorded one had; nil: there was none.
func (a *Answers) Oracle(abilities Abilities) *objects.Oracle {
	given := givenAnswers{a}
	a.listener.to = &objects.Oracle{Fits: given.fits, FitsEach: given.fitsEach, FitsWhenFree: given.fits,
		FitsWithout: func(ask objects.AllocationKey, node objects.NodeID, _ []objects.AllocationKey) bool {
			return given.fits(ask, node)
		}}
	return withAbilities(a.listener.oracle(), abilities)
}

// Begin begins a step with these answers.
func (a *Answers) Begin(answers []byte) {
	a.listener.begin()
	a.left, a.problem = answers, nil
}

// End ends the step. questions are for Digester.Digest. The error says that another question was asked than in the
// recording, or that answers are left.
func (a *Answers) End() (questions []byte, err error) {
	a.listener.inStep = false
	if a.problem == nil && len(a.left) > 0 {
		a.problem = fmt.Errorf("the resource manager is asked less than in the recording: %d bytes of answers are left",
			len(a.left))
	}
	return a.listener.questions, a.problem
}

// givenAnswers takes answers from Answers. Without one it accepts, and the step has a problem.
type givenAnswers struct{ *Answers }

func (a givenAnswers) fits(ask objects.AllocationKey, node objects.NodeID) bool {
	if len(a.left) == 0 || a.left[0] > 1 {
		return a.notRecorded(ask, node)
	}
	is := a.left[0] == 1
	a.left = a.left[1:]
	return a.answered(ask, node, is)
}

func (a givenAnswers) answered(ask objects.AllocationKey, node objects.NodeID, fits bool) bool {
	if a.OnAnswer != nil {
		a.OnAnswer(ask, node, fits)
	}
	return fits
}

func (a givenAnswers) fitsEach(ask objects.AllocationKey, nodes []objects.NodeID) (fits []bool) {
	n, size := uint64(0), 0
	if len(a.left) > 1 && a.left[0] == 2 {
		n, size = binary.Uvarint(a.left[1:])
	}
	if size <= 0 || n > uint64(len(nodes)) || n > uint64(len(a.left)-1-size) {
		for _, node := range nodes { // up to an acceptance
			fits = append(fits, a.notRecorded(ask, node))
			if fits[len(fits)-1] {
				return fits
			}
		}
		return fits
	}
	answers := a.left[1+size:]
	a.left = answers[n:]
	for i, is := range answers[:n] {
		fits = append(fits, a.answered(ask, nodes[i], is == 1))
	}
	return fits
}

// notRecorded answers a question that the recording does not have.
func (a givenAnswers) notRecorded(ask objects.AllocationKey, node objects.NodeID) bool {
	if a.Otherwise != nil {
		return a.answered(ask, node, a.Otherwise(ask, node))
	}
	if a.problem == nil {
		a.problem = fmt.Errorf("the resource manager is asked about ask %s on node %s, which the recording does not have",
			ask, node)
	}
	a.left = nil
	return true
}
