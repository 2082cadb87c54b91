package twin

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// play is a story being told.
type play struct {
	now         time.Time
	twin        *Twin
	core, again *scheduler.Core // the same twice: the story must come out the same
	notes       *notes          // of core
	reader      *reader         // of core
}

// actor is a Core or a Twin.
type actor interface {
	Step(now time.Time, cmd scheduler.Command) []scheduler.Effect
	Schedule(now time.Time, budget int) ([]scheduler.Effect, bool)
}

func (p *play) perform(beat Beat) (f *Failure) {
	p.now = p.now.Add(beat.After)
	f = &Failure{Beat: beat}
	defer func() {
		if x := recover(); x != nil {
			f.Problem = fmt.Sprintf("panic: %v\n%s", x, debug.Stack())
		}
		if f.Problem == "" {
			f = nil
		}
	}()
	var more, alsoMore, againMore bool
	f.Twin, more = beat.act(p.twin, p.now)
	f.Core, alsoMore = beat.act(p.core, p.now)
	again, againMore := beat.act(p.again, p.now)
	told := retell(f.Core)
	f.Core, f.Problem = p.notes.hear(f.Core)
	switch {
	case f.Problem != "":
	case !slices.EqualFunc(f.Core, f.Twin, func(a, b scheduler.Effect) bool { return gist(a) == gist(b) }):
		f.Problem = "they say different things"
	case !slices.Equal(p.notes.queues, p.twin.changedQueues):
		f.Problem = fmt.Sprintf("the core says of queues %q, the twin %q", p.notes.queues, p.twin.changedQueues)
	case more != alsoMore:
		f.Problem = fmt.Sprintf("more is %t for the core, %t for the twin", alsoMore, more)
	case told != retell(again) || alsoMore != againMore:
		f.Problem = "told twice, it is another story:\n" + retell(again)
	default:
		f.Problem = p.inspect(beat)
	}
	if f.Problem == "" && beat.Command == nil && !more && !p.twin.unheard {
		f.Problem = p.ask()
	}
	return f
}

func (b Beat) act(a actor, now time.Time) ([]scheduler.Effect, bool) {
	if b.Command == nil {
		return a.Schedule(now, b.Budget)
	}
	return a.Step(now, b.Command), false
}

// inspect looks behind what was said: at the books, and at the next deadline.
func (p *play) inspect(beat Beat) string {
	if err := p.core.Check(); err != nil {
		return "check: " + err.Error()
	}
	full := p.core.FullSnapshot(p.now)
	if lines := p.twin.Differences(full); len(lines) > 0 {
		return strings.Join(lines, "\n")
	}
	if problem := p.reader.read(p.core, full, p.now); problem != "" {
		return problem
	}
	if lines := p.twin.ShareDifferences(p.core.Partition()); len(lines) > 0 {
		return strings.Join(lines, "\n")
	}
	if lines := p.notes.differences(p.twin); len(lines) > 0 {
		return strings.Join(lines, "\n")
	}
	at, set := p.core.NextDeadline()
	if due, want := p.twin.NextDeadline(); want && (!set || at.After(due)) {
		return fmt.Sprintf("the core would sleep over the deadline %s", due)
	}
	// A command may leave something due at once; whoever then wakes the core has done it.
	if _, woken := beat.Command.(scheduler.Wake); set && !at.After(p.now) && (woken || beat.Command == nil) {
		return fmt.Sprintf("the core asks to be woken at %s, which is past", at)
	}
	return ""
}

// ask has the core explain why what is still pending was not placed. The second core is
// asked, so that it would show if explaining changed anything.
func (p *play) ask() string {
	c := p.twin.count()
	for _, w := range p.twin.work {
		if w.node != "" {
			continue
		}
		want := p.twin.obstacle(c, w)
		if got := p.again.Explain(w.ask.Key, p.now); got.Verdict.Obstacle != want {
			return fmt.Sprintf("%s: the core says %q, the twin %q", w.ask.Key, got, scheduler.Verdict{Obstacle: want})
		}
	}
	return ""
}

// gist is an effect as text, without the words of a refusal or a release: that both
// refuse the same thing is what matters.
func gist(e scheduler.Effect) string {
	switch e := e.(type) {
	case scheduler.NodeRejected:
		return fmt.Sprintf("rejected node %s", e.Node)
	case scheduler.ApplicationRejected:
		return fmt.Sprintf("rejected application %s", e.App)
	case scheduler.AskRejected:
		return fmt.Sprintf("rejected ask %s (%s)", e.Key, e.App)
	case scheduler.Refused:
		return "refused"
	case scheduler.Released:
		if e.Type == scheduler.PreemptedByScheduler {
			return e.String()
		}
		return fmt.Sprintf("released %s (%s), %s", e.Key, e.App, e.Type)
	case scheduler.ApplicationUpdated:
		return fmt.Sprintf("%s at %s: %s", e, e.At, e.Why)
	case scheduler.Allocated:
		return fmt.Sprintf("%s: %s", e, describeAsk(e.Ask))
	}
	return e.String()
}

func retell(effects []scheduler.Effect) string {
	var b strings.Builder
	for _, e := range effects {
		b.WriteString(e.String())
		b.WriteByte('\n')
	}
	return b.String()
}
