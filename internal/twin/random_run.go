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

// Run is a conversation with a scheduler, from the first configuration on.
type Run struct {
	Seed      uint64
	Partition configs.Partition
	Oracle    OracleKind
	Lifetimes objects.Lifetimes
	Shapes    int // how many the second core can tell apart

	MaxNames, MaxAskNames int // how many resource names there may be, and that only asks have; 0: as usual
	MaxRefusals           int // how many refused asks of a group are gone through; 0: as many as in earnest
	MaxCandidates         int // how many nodes are compared for an ask that could preempt; above 0
	Steps                 []Step
}

// Step is one thing that happens in a story: a command, or a call of Schedule.
type Step struct {
	After   time.Duration     // since the beat before
	Command scheduler.Command // nil: Schedule
	Budget  int
}

// Failure says at which beat of a story a Core and its twin parted, and how.
type Failure struct {
	StepIndex  int
	FailedStep Step
	Core       []scheduler.Effect
	Twin       []scheduler.Effect
	Problem    string
}

func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %d: %s\n%s\n", f.StepIndex, f.FailedStep, f.Problem)
	printEffects := func(name string, effects []scheduler.Effect) {
		fmt.Fprintf(&b, "%s said:\n", name)
		for _, e := range effects {
			fmt.Fprintf(&b, "\t%s\n", effectSummary(e))
		}
	}
	printEffects("core", f.Core)
	printEffects("twin", f.Twin)
	return b.String()
}

// startTime is when all stories begin.
func startTime() time.Time { return time.Unix(1_700_000_000, 0).UTC() }

// Execute tells the story to a Core, to its twin and to a second Core, and compares them
// after every beat. nil: they agree to the end. The second Core may have another table of
// shapes, which must not be seen, and nobody looks at its books, which might settle them.
func (s Run) Execute() *Failure { return s.executeOn(s.newHarness()) }

// newHarness is where a story begins.
func (s Run) newHarness() *harness {
	oracle := s.Oracle.oracle()
	opt := objects.Options{Shapes: objects.DefaultShapes, Lifetimes: s.Lifetimes, Evaluations: 1 << 30, Candidates: s.MaxCandidates, Names: s.MaxNames, AskNames: s.MaxAskNames, Refusals: s.MaxRefusals}
	p := &harness{
		now: startTime(), events: newEventState(), reader: newSnapshotReader(s.Seed), twin: NewWith(s.Partition, oracle, s.Lifetimes), core: scheduler.NewWith(s.Partition, oracle, opt),
	}
	p.twin.maxCandidates, p.twin.maxRefusals = s.MaxCandidates, cmp.Or(s.MaxRefusals, p.twin.maxRefusals)
	p.twin.maxNames, p.twin.maxAskNames = cmp.Or(s.MaxNames, p.twin.maxNames), cmp.Or(s.MaxAskNames, p.twin.maxAskNames)
	opt.Shapes = s.Shapes
	p.second = scheduler.NewWith(s.Partition, oracle, opt)
	return p
}

func (s Run) executeOn(p *harness) *Failure {
	for i, step := range s.Steps {
		if f := p.execute(step); f != nil {
			f.StepIndex = i
			return f
		}
	}
	return nil
}
