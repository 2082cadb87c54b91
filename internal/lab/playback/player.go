package playback

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Player makes the steps of a recording again, one after the other. The zero value waits for a Begin.
type Player struct {
	Answers recording.Answers // of the Oracle

	core     *scheduler.Core // nil: there is nothing to make steps with
	restart  *recording.Begin
	digester recording.Digester
}

// Played is a step that was made again.
type Played struct {
	Step    *recording.Step
	Effects []scheduler.Effect // valid until the next step
	More    bool
	Digest  uint64

	// Replayed: the step was made. It is not behind a gap, and before the first Begin.
	Replayed bool
	// Compared: the recording has what it is compared with: not in a step in which it ends, and not in the first after a
	// gap.
	Compared bool
	// Difference is what differs, in words; empty: nothing.
	Difference string
	// Panic is how the scheduler has panicked; empty: it has not. In a step in which a recording ends that is no
	// difference: the recorded scheduler may have panicked, too.
	Panic string
}

// Ready reports whether the next step can be made.
func (p *Player) Ready() bool { return p.core != nil || p.restart != nil }

// Core is the Core; nil: there is none before the first step.
func (p *Player) Core() *scheduler.Core { return p.core }

// Begin takes what a Core was made with. While there is one that was not interrupted, it goes on with another Oracle,
// as the recorded one did.
func (p *Player) Begin(b *recording.Begin) {
	switch {
	case !b.Restart:
		p.core, p.restart = scheduler.NewWith(b.Partition, p.Answers.Oracle(b.Oracle), b.Options), nil
	case p.core != nil:
		p.core.SetOracle(p.Answers.Oracle(b.Oracle))
	default:
		p.restart = b
	}
}

// Checkpoint takes the state of the Core between two steps, if nothing can be made otherwise. The error says why there
// is none; see recording.Checkpoint.
func (p *Player) Checkpoint(k *recording.Checkpoint) (err error) {
	if p.Ready() {
		return nil
	}
	p.core, err = k.Core(&p.Answers)
	return err
}

// Interrupt says that steps are missing: nothing can be made until the next Begin or Checkpoint.
func (p *Player) Interrupt() { p.core, p.restart = nil, nil }

// Make makes a step, and compares.
func (p *Player) Make(s *recording.Step) (out Played) {
	out.Step = s
	if !p.Ready() {
		return out
	}
	out.Replayed, out.Compared = true, s.Done
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

// restarted is a Core with what one that is reset next keeps.
func restarted(b *recording.Begin, answers *recording.Answers, now time.Time) *scheduler.Core {
	core := scheduler.NewWith(b.Partition, answers.Oracle(b.Oracle), b.Options)
	if b.NotListening {
		core.Step(now, scheduler.SetListening{})
	}
	if b.Draining {
		core.Step(now, scheduler.DrainPartition{})
	}
	core.Step(now, scheduler.RestoreOperators{State: b.Operators})
	return core
}
