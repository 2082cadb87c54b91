package twin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestRandomRun_SameSeedSameRun(t *testing.T) {
	assert.Equal(t, randomrun.RandomRun(7, stepsPerRun).String(), randomrun.RandomRun(7, stepsPerRun).String())
	assert.Assert(t, randomrun.RandomRun(7, stepsPerRun).String() != randomrun.RandomRun(8, stepsPerRun).String())
}

func TestShorten_KeepsOnlyFailingSteps(t *testing.T) {
	s := randomrun.RandomRun(3, 50)
	remove := func(id objects.NodeID) scheduler.Command { return scheduler.RemoveNode{Node: id} }
	s.Steps[12].Command, s.Steps[40].Command = remove("first"), remove("second")
	fails := func(s randomrun.Run) *Failure {
		at := func(id objects.NodeID) int {
			return slices.IndexFunc(s.Steps, func(b randomrun.Step) bool { return b.Command == remove(id) })
		}
		first, second := at("first"), at("second")
		if first < 0 || second < first {
			return nil
		}
		return &Failure{StepIndex: second}
	}
	var want time.Duration // passes before the second
	for _, b := range s.Steps[:41] {
		want += b.After
	}
	shorter, f := Shorten(s, fails(s), fails)
	assert.Equal(t, len(shorter.Steps), 2)
	assert.Equal(t, f.StepIndex, 1)
	assert.Equal(t, shorter.Steps[0].After+shorter.Steps[1].After, want, "time that is left out still passes")
}

func TestHarness_ReportsDifferentQueues(t *testing.T) {
	leaf := func(name string) configs.Partition {
		root := configs.Queue{Name: "root", Parent: true, Children: []configs.Queue{{Name: name}}}
		return configs.Partition{Name: "default", Root: root}
	}
	p := harness{
		now: randomrun.StartTime(), reader: newSnapshotReader(1), events: newEventState(), twin: New(leaf("a"), nil),
		core: scheduler.New(leaf("b"), nil), second: scheduler.New(leaf("b"), nil),
	}
	f := p.execute(randomrun.Step{Command: scheduler.Wake{}})
	assert.Assert(t, f != nil && strings.Contains(f.Error(), "path is root.b, the twin counts root.a"), "%v", f)
	f = p.execute(randomrun.Step{Command: scheduler.AddApplication{App: "x", Queue: "root.a"}})
	assert.Assert(t, f != nil)
	for _, want := range []string{"different things", "rejected application x", "accepted application x"} {
		assert.Assert(t, strings.Contains(f.Error(), want), "%v", f)
	}
}
