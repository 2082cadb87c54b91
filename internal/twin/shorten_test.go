package twin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestTheSameSeedTellsTheSameStory(t *testing.T) {
	assert.Equal(t, Random(7, beats).String(), Random(7, beats).String())
	assert.Assert(t, Random(7, beats).String() != Random(8, beats).String())
}

func TestOnlyWhatMattersIsLeftOfAFailingStory(t *testing.T) {
	s := Random(3, 50)
	remove := func(id objects.NodeID) scheduler.Command { return scheduler.RemoveNode{Node: id} }
	s.Beats[12].Command, s.Beats[40].Command = remove("first"), remove("second")
	fails := func(s Story) *Failure {
		at := func(id objects.NodeID) int {
			return slices.IndexFunc(s.Beats, func(b Beat) bool { return b.Command == remove(id) })
		}
		first, second := at("first"), at("second")
		if first < 0 || second < first {
			return nil
		}
		return &Failure{Step: second}
	}
	var want time.Duration // passes before the second
	for _, b := range s.Beats[:41] {
		want += b.After
	}
	shorter, f := s.Shorten(fails(s), fails)
	assert.Equal(t, len(shorter.Beats), 2)
	assert.Equal(t, f.Step, 1)
	assert.Equal(t, shorter.Beats[0].After+shorter.Beats[1].After, want, "time that is left out still passes")
}

func TestATwinWithOtherQueuesIsFoundOut(t *testing.T) {
	leaf := func(name string) configs.Partition {
		root := configs.Queue{Name: "root", Parent: true, Children: []configs.Queue{{Name: name}}}
		return configs.Partition{Name: "default", Root: root}
	}
	p := play{
		now: start(), reader: newReader(1), notes: newNotes(), twin: New(leaf("a"), nil),
		core: scheduler.New(leaf("b"), nil), again: scheduler.New(leaf("b"), nil),
	}
	f := p.perform(Beat{Command: scheduler.Wake{}})
	assert.Assert(t, f != nil && strings.Contains(f.Error(), "path is root.b, the twin counts root.a"), "%v", f)
	f = p.perform(Beat{Command: scheduler.AddApplication{App: "x", Queue: "root.a"}})
	assert.Assert(t, f != nil)
	for _, want := range []string{"different things", "rejected application x", "accepted application x"} {
		assert.Assert(t, strings.Contains(f.Error(), want), "%v", f)
	}
}
