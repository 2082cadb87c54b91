package whatif

import (
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// run is the recorded run and the changed one, side by side.
type run struct {
	scenario *Scenario
	history  *history
	until    time.Time // the end of the recording

	player          playback.Player // makes the recorded decisions
	recorded        *tracker
	recordedSamples *samples

	core      *scheduler.Core // the changed run
	restored  *recording.Begin
	changed   *tracker
	samples   *samples
	nodes     *nodes
	timers    timers
	removals  map[objects.AppID]bool // applications that the resource manager removes when their last allocation has ended
	now       time.Time
	woken     time.Time // the last deadline that was served
	diverged  bool      // the changed run has done anything that was not recorded, or not as it was
	undecided bool      // a decision may be possible in the changed run
	digester  recording.Digester
	effects   []scheduler.Effect // of the changed run in the current step

	notes notes
}

// notes counts how often the behaviour of the resource manager was made up.
type notes struct {
	estimated int // allocations with an estimated duration
	endless   int // allocations that run to the end, because nothing is known
	confirmed int // victims and placeholders that are confirmed after the median time
	reloads   int // reloads that were left out
	oracle    bool
}

// decisions is the number of decisions between two looks at the clock, as a server does by default.
const decisions = 256

// begin takes what the recorded Core was made with.
func (r *run) begin(b *recording.Begin) error {
	r.player.Begin(b)
	r.notes.oracle = b.Oracle != 0
	p, _, err := r.scenario.partition(b.Partition)
	if err != nil {
		return err
	}
	r.core = scheduler.NewWith(p, nil, b.Options)
	if b.Restart {
		r.restored = b
	}
	return nil
}

// step makes a recorded step, and what takes its place in the changed run.
func (r *run) step(s *recording.Step) error {
	r.restore(s.At)
	r.advance(s.At)
	r.recordedSamples.upTo(s.At, r.player.Core())
	r.samples.upTo(s.At, r.core)
	r.now = s.At
	commands := r.translate(s.Command) // by the state before the step
	r.effects = r.effects[:0]
	if s.Command != nil {
		r.recorded.command(s.Command, s.At)
	}
	made := r.player.Make(s)
	if made.Difference != "" {
		return &DifferenceError{s.Number, s.At, made.Difference}
	}
	r.recorded.effects(made.Effects, s.At)
	switch {
	case r.nothingDue(s):
	case s.Command == nil:
		if r.schedule(s.Budget) && !made.More {
			r.exhaust() // the recorded scheduler had nothing left to decide
		}
	default:
		for _, cmd := range commands {
			r.apply(cmd)
		}
	}
	r.diverged = r.diverged || len(r.effects) != len(made.Effects) ||
		r.digester.Digest(r.effects, nil) != r.digester.Digest(made.Effects, nil)
	r.endUnrecorded(made.Effects)
	r.removeIdle()
	return nil
}

// nothingDue reports whether the changed run has nothing to do in a recorded call for decisions, or at a recorded
// deadline, which is not its own. An owner of its Core would not call it: a look at what waits may change when it is
// looked at next.
func (r *run) nothingDue(s *recording.Step) bool {
	if _, wakes := s.Command.(scheduler.Wake); !r.diverged || r.undecided || s.Command != nil && !wakes {
		return false
	}
	deadline, ok := r.core.NextDeadline()
	return !ok || deadline.After(s.At)
}

// restore applies what a Core that is not new kept, before its first step.
func (r *run) restore(at time.Time) {
	b := r.restored
	if b == nil {
		return
	}
	r.restored, r.now = nil, at
	if b.NotListening {
		r.apply(scheduler.SetListening{})
	}
	if b.Draining {
		r.apply(scheduler.DrainPartition{})
	}
	r.apply(scheduler.RestoreOperators{State: b.Operators})
	r.apply(scheduler.RestoreStarts{Starts: b.Starts})
	r.apply(scheduler.RestoreUsage{Usage: b.Usage})
}

// advance does what happens in the changed run only, up to a time.
func (r *run) advance(to time.Time) {
	for {
		at, isTimer := r.timers.next()
		if isTimer && at.After(to) {
			isTimer = false
		}
		deadline, isDeadline := r.ownDeadline(to)
		switch {
		case isTimer && (!isDeadline || !deadline.Before(at)):
			r.sample(at)
			r.diverged = true
			if t := r.timers.take(); t.about == nil || t.about.bound() {
				r.apply(t.cmd)
			}
			r.removeIdle()
			r.exhaust()
		case isDeadline:
			r.woken, r.diverged = deadline, true
			r.sample(deadline)
			r.apply(scheduler.Wake{})
			r.exhaust()
		default:
			return
		}
	}
}

// sample moves the time of the changed run.
func (r *run) sample(at time.Time) {
	if at.Before(r.now) {
		at = r.now
	}
	r.samples.upTo(at, r.core)
	r.now = at
}

// ownDeadline returns a deadline of the changed run before a time; ok is false if there is none, or if the recorded
// scheduler has the same: the recording says when it was served.
func (r *run) ownDeadline(before time.Time) (at time.Time, ok bool) {
	at, ok = r.core.NextDeadline()
	if !ok || !at.Before(before) || !at.After(r.woken) {
		return at, false
	}
	if recorded := r.player.Core(); recorded != nil {
		if same, has := recorded.NextDeadline(); has && same.Equal(at) {
			return at, false
		}
	}
	return at, true
}

// apply applies a command to the changed run.
func (r *run) apply(cmd scheduler.Command) {
	r.undecided = true
	r.changed.command(cmd, r.now)
	r.react(r.core.Step(r.now, cmd))
}

// schedule makes up to n decisions in the changed run.
func (r *run) schedule(n int) (more bool) {
	effects, more := r.core.Schedule(r.now, n)
	r.undecided = more
	r.react(effects)
	return more
}

// exhaust decides until nothing is left to decide.
func (r *run) exhaust() {
	for r.schedule(decisions) {
	}
}

// react notes effects of the changed run, and what the resource manager does because of them.
func (r *run) react(effects []scheduler.Effect) {
	r.effects = append(r.effects, effects...)
	r.changed.effects(effects, r.now)
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.Allocated:
			r.placed(r.changed.last[e.Ask.Key])
		case scheduler.Released:
			if x := r.changed.last[e.Key]; x != nil && x.bound() && x.releasing.Equal(r.now) {
				r.confirmLater(x)
			}
		}
	}
}

// placed plans the end of an allocation of the changed run, unless the recording has it.
func (r *run) placed(x *request) {
	if x == nil || x.placeholder {
		return
	}
	then := r.history.of(x)
	if then != nil && then.started.Equal(x.started) {
		return // the recorded commands end it
	}
	r.endLater(x, then)
}

// endLater plans the end of an allocation by its duration.
func (r *run) endLater(x, then *request) {
	d, estimated, ok := r.history.duration(then, r.changed.application(x.app).queue, r.until)
	switch {
	case !ok:
		r.notes.endless++
		return
	case estimated:
		r.notes.estimated++
	}
	at := x.started.Add(d)
	if at.Before(r.now) {
		at = r.now
	}
	r.timers.add(at, x, scheduler.StoppedByRM)
}

// confirmLater plans the confirmation of a release that the scheduler has ordered, unless the recording has it.
func (r *run) confirmLater(x *request) {
	if then := r.recorded.last[x.key]; then != nil && then.releasing.Equal(x.releasing) &&
		then.submitted.Equal(x.submitted) && then.before == x.before {
		return
	}
	r.notes.confirmed++
	r.timers.add(r.now.Add(r.history.confirm[x.reason]), x, x.reason)
}

// endUnrecorded plans the end of allocations that the recorded scheduler has just ordered to end, or lost with their
// nodes, and the changed one has not.
func (r *run) endUnrecorded(effects []scheduler.Effect) {
	for _, e := range effects {
		if e, ok := e.(scheduler.Released); ok {
			then, x := r.recorded.last[e.Key], r.changed.last[e.Key]
			if then != nil && x != nil && (then.bound() || then.lost) && x.bound() && x.releasing.IsZero() &&
				x.started.Equal(then.started) && !x.placeholder {
				r.endLater(x, then)
			}
		}
	}
}

// removeIdle makes the resource manager remove applications whose last request has just ended, as long after that as it
// did.
func (r *run) removeIdle() {
	for len(r.changed.emptied) > 0 {
		id := r.changed.emptied[0]
		r.changed.emptied = r.changed.emptied[1:]
		if len(r.changed.live[id]) > 0 {
			continue
		}
		if r.removals[id] {
			delete(r.removals, id)
			r.apply(scheduler.RemoveApplication{App: id})
			continue
		}
		a := r.changed.application(id)
		if then := r.nextRemoval(id); then != nil && !then.killed && a.submitted == then.all &&
			!a.lastEnd.Equal(then.lastEnd) {
			r.timers.remove(r.now.Add(then.at.Sub(then.lastEnd)), id)
		}
	}
}

// nextRemoval returns the recorded removal of an application that the changed run has not had; nil: there is none.
func (r *run) nextRemoval(id objects.AppID) *removal {
	known := r.history.apps[id]
	if n := len(r.changed.application(id).removals); known != nil && n < len(known.removals) {
		return &known.removals[n]
	}
	return nil
}
