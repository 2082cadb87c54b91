package playback

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Player makes the steps of a session again, one after the other. Begin comes first.
type Player struct {
	Answers recording.Answers // of the Oracle

	core     *scheduler.Core  // nil: the scheduler has panicked, or waits for the time of its first step
	restart  *recording.Begin // of a Core that waits; nil: it does not
	digester recording.Digester
}

// Played is a step that was made again.
type Played struct {
	Step    *recording.Step
	Effects []scheduler.Effect // valid until the next step
	More    bool
	Digest  uint64

	// Compared says that the recording has what the step is compared with: not in a step in which it ends, and not in the
	// one that resets a partition.
	Compared bool
	// Difference says what differs; empty: nothing.
	Difference string
	// Panic says how the scheduler has panicked; empty: it has not. In a step in which a recording ends that is no
	// difference: the recorded scheduler may have panicked, too.
	Panic string
}

// Core returns the Core; nil: there is none before the first step.
func (p *Player) Core() *scheduler.Core { return p.core }

// Begin takes what a Core was made with.
func (p *Player) Begin(b *recording.Begin) {
	if b.Restart {
		p.restart = b
		return
	}
	p.core = scheduler.NewWith(b.Partition, p.Answers.Oracle(b.Oracle), b.Options)
}

// Make makes a step, and compares. Requires: the scheduler has not panicked before.
func (p *Player) Make(s *recording.Step) (out Played) {
	out.Step, out.Compared = s, s.Done
	if p.restart != nil {
		p.core = restarted(p.restart, &p.Answers, s.At)
		p.restart, out.Compared = nil, false
	}
	p.Answers.Begin(s.Answers)
	p.step(&out)
	questions, err := p.Answers.End()
	out.Digest = p.digester.Digest(out.Effects, questions)
	switch {
	case out.Panic != "":
		p.core = nil
		if s.Done {
			out.Difference = "this version of Canopy panics"
		}
	case !out.Compared:
	case err != nil:
		out.Difference = err.Error()
	case len(out.Effects) != s.Effects:
		out.Difference = fmt.Sprintf("the recording has %d effects, this version of Canopy makes %d", s.Effects,
			len(out.Effects))
	case out.Digest != s.Digest:
		out.Difference = fmt.Sprintf("the number of effects is the same, %d, but not what they say", s.Effects)
	case out.More != s.More:
		out.Difference = fmt.Sprintf("the effects are the same, but whether decisions are left is %t in the recording",
			s.More)
	}
	return out
}

// step has the Core make a step.
func (p *Player) step(out *Played) {
	defer func() {
		if x := recover(); x != nil {
			out.Panic = fmt.Sprintf("%v\n%s", x, debug.Stack())
		}
	}()
	if cmd := out.Step.Command; cmd != nil {
		out.Effects = p.core.Step(out.Step.At, cmd)
	} else {
		out.Effects, out.More = p.core.Schedule(out.Step.At, out.Step.Budget)
	}
}

// restarted returns a Core with what one that is reset next keeps.
func restarted(b *recording.Begin, answers *recording.Answers, now time.Time) *scheduler.Core {
	core := scheduler.NewWith(b.Partition, answers.Oracle(b.Oracle), b.Options)
	if b.NotListening {
		core.Step(now, scheduler.SetListening{})
	}
	if b.Draining {
		core.Step(now, scheduler.DrainPartition{})
	}
	core.Step(now, scheduler.RestoreOperators{State: b.Operators})
	core.Step(now, scheduler.RestoreStarts{Starts: b.Starts})
	core.Step(now, scheduler.RestoreUsage{Usage: b.Usage})
	return core
}
