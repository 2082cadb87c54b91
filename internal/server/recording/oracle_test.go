package recording

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// evenNodes accepts nodes whose names have an even length, and does not say more about a batch than it must.
type evenNodes struct{}

func (evenNodes) Fits(_ objects.AllocationKey, node objects.NodeID) bool { return len(node)%2 == 0 }

func (o evenNodes) FitsEach(ask objects.AllocationKey, nodes []objects.NodeID) (fits []bool) {
	for _, n := range nodes {
		fits = append(fits, o.Fits(ask, n))
		if fits[len(fits)-1] {
			break
		}
	}
	return fits
}

func (o evenNodes) FitsWithout(ask objects.AllocationKey, node objects.NodeID, _ []objects.AllocationKey) bool {
	return !o.Fits(ask, node)
}

func (o evenNodes) FitsWhenFree(ask objects.AllocationKey, node objects.NodeID) bool {
	return o.Fits(ask, node+"x")
}

func (o evenNodes) oracle() *objects.Oracle {
	return &objects.Oracle{Fits: o.Fits, FitsEach: o.FitsEach, FitsWithout: o.FitsWithout, FitsWhenFree: o.FitsWhenFree}
}

// A Core asks an Oracle what it can answer, so one that is recorded, and that of a replay, must have the same.
func TestOracle_HasTheAbilitiesOfTheRecordedOne(t *testing.T) {
	assert.Assert(t, (&Recorder{}).Oracle(nil) == nil)
	for more := range Abilities(8) {
		has := AnswersFits | more<<1
		original := withAbilities(*evenNodes{}.oracle(), has)
		r := &Recorder{}
		assert.Equal(t, abilitiesOf(r.Oracle(original)), has)
		assert.Equal(t, abilitiesOf(new(Answers).Oracle(has)), has)
	}
}

// askAll asks all kinds of questions, and returns the answers.
func askAll(o *objects.Oracle) (answers []any) {
	answers = append(answers, o.Fits("k", "n1"), o.Fits("k", "n11"))
	answers = append(answers, o.FitsEach("k", []objects.NodeID{"n", "m", "n1", "n2"}))
	answers = append(answers, o.FitsWithout("k", "n1", []objects.AllocationKey{"v"}))
	return append(answers, o.FitsWhenFree("k", "n1"),
		o.FitsWhenFree("k", "n"))
}

func TestAnswers_AreThoseOfTheRecordedOracle(t *testing.T) {
	r := &Recorder{}
	o := r.Oracle(evenNodes{}.oracle())
	askAll(o) // outside of a step: an explanation
	r.oracle.begin()
	want := askAll(o)
	var a Answers
	replayed := a.Oracle(r.has)
	a.Begin(r.oracle.answers)
	assert.DeepEqual(t, askAll(replayed), want)
	questions, err := a.End()
	assert.NilError(t, err)
	assert.DeepEqual(t, questions, r.oracle.questions)

	a.Begin(r.oracle.answers)
	askAll(replayed)
	replayed.Fits("k", "n7")
	_, err = a.End()
	assert.Error(t, err, "the resource manager is asked about ask k on node n7, which the recording does not have")
	a.Begin(r.oracle.answers)
	replayed.Fits("k", "n1")
	_, err = a.End()
	assert.ErrorContains(t, err, "the resource manager is asked less than in the recording")
	a.Begin(r.oracle.answers)
	assert.DeepEqual(t, replayed.FitsEach("k", []objects.NodeID{"n1"}), []bool{true})
	_, err = a.End()
	assert.ErrorContains(t, err, "asked about ask k on node n1")
}
