package twin

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Story is a conversation with a scheduler, from the first configuration on.
type Story struct {
	Seed      uint64
	Partition configs.Partition
	RM        RM
	Lifetimes objects.Lifetimes
	Shapes    int // how many the second core can tell apart

	Names, AskNames int // how many resource names there may be, and that only asks have; 0: as usual
	Refusals        int // how many refused asks of a group are gone through; 0: as many as in earnest
	Candidates      int // how many nodes are compared for an ask that could preempt; above 0
	Beats           []Beat
}

// Beat is one thing that happens in a story: a command, or a call of Schedule.
type Beat struct {
	After   time.Duration     // since the beat before
	Command scheduler.Command // nil: Schedule
	Budget  int
}

// Failure says at which beat of a story a Core and its twin parted, and how.
type Failure struct {
	Step    int
	Beat    Beat
	Core    []scheduler.Effect
	Twin    []scheduler.Effect
	Problem string
}

func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %d: %s\n%s\n", f.Step, f.Beat, f.Problem)
	tell := func(who string, effects []scheduler.Effect) {
		fmt.Fprintf(&b, "%s said:\n", who)
		for _, e := range effects {
			fmt.Fprintf(&b, "\t%s\n", gist(e))
		}
	}
	tell("core", f.Core)
	tell("twin", f.Twin)
	return b.String()
}

// start is when all stories begin.
func start() time.Time { return time.Unix(1_700_000_000, 0).UTC() }

// Play tells the story to a Core, to its twin and to a second Core, and compares them
// after every beat. nil: they agree to the end. The second Core may have another table of
// shapes, which must not be seen, and nobody looks at its books, which might settle them.
func (s Story) Play() *Failure { return s.tell(s.begin()) }

// begin is where a story begins.
func (s Story) begin() *play {
	oracle := s.RM.oracle()
	opt := objects.Options{Shapes: objects.DefaultShapes, Lifetimes: s.Lifetimes, Looks: 1 << 30, Candidates: s.Candidates, Names: s.Names, AskNames: s.AskNames, Refusals: s.Refusals}
	p := &play{
		now: start(), notes: newNotes(), reader: newReader(s.Seed), twin: NewWith(s.Partition, oracle, s.Lifetimes), core: scheduler.NewWith(s.Partition, oracle, opt),
	}
	p.twin.candidates, p.twin.refusals = s.Candidates, cmp.Or(s.Refusals, p.twin.refusals)
	p.twin.names, p.twin.askNames = cmp.Or(s.Names, p.twin.names), cmp.Or(s.AskNames, p.twin.askNames)
	opt.Shapes = s.Shapes
	p.again = scheduler.NewWith(s.Partition, oracle, opt)
	return p
}

func (s Story) tell(p *play) *Failure {
	for i, beat := range s.Beats {
		if f := p.perform(beat); f != nil {
			f.Step = i
			return f
		}
	}
	return nil
}
