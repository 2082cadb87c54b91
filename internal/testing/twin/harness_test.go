package twin

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// harness executes a random run.
type harness struct {
	now          time.Time
	twin         *Twin
	core, second *scheduler.Core // two cores, whose effects must be equal
	events       *eventState     // of core
	reader       *snapshotReader // of core

	watch stepObserver // of core; nil: none
}

// stepObserver is called before each step; what it returns is called with the effects after it.
type stepObserver func(step randomrun.Step) func(effects []scheduler.Effect)

// stepper is a Core or a Twin.
type stepper interface {
	Step(now time.Time, cmd scheduler.Command) []scheduler.Effect
	Schedule(now time.Time, budget int) ([]scheduler.Effect, bool)
}

func (p *harness) execute(step randomrun.Step) (f *Failure) {
	p.now = p.now.Add(step.After)
	f = &Failure{FailedStep: step}
	defer func() {
		if x := recover(); x != nil {
			f.Problem = fmt.Sprintf("panic: %v\n%s", x, debug.Stack())
		}
		if f.Problem == "" {
			f = nil
		}
	}()
	after := func([]scheduler.Effect) {}
	if p.watch != nil {
		after = p.watch(step)
	}
	var more, coreMore, secondMore bool
	f.Twin, more = applyStep(step, p.twin, p.now)
	f.Core, coreMore = applyStep(step, p.core, p.now)
	after(f.Core)
	secondEffects, secondMore := applyStep(step, p.second, p.now)
	coreText := effectsText(f.Core)
	f.Core, f.Problem = p.events.consume(f.Core)
	switch {
	case f.Problem != "":
	case !slices.Equal(effectSummaries(f.Core), effectSummaries(f.Twin)):
		f.Problem = "they say different things"
	case !slices.Equal(p.events.queueChanges, p.twin.queueChanges):
		f.Problem = fmt.Sprintf("the core says of queues %q, the twin %q", p.events.queueChanges, p.twin.queueChanges)
	case more != coreMore:
		f.Problem = fmt.Sprintf("more is %t for the core, %t for the twin", coreMore, more)
	case coreText != effectsText(secondEffects) || coreMore != secondMore:
		f.Problem = "the second core differs:\n" + effectsText(secondEffects)
	default:
		f.Problem = p.checkState(step)
	}
	if f.Problem == "" && step.Command == nil && !more && !p.twin.rmNotListening {
		f.Problem = cmp.Or(p.twin.usageKeyDifference(p.core.Partition()), p.checkExplanations())
	}
	return f
}

// applyStep applies a step of a run.
func applyStep(b randomrun.Step, a stepper, now time.Time) ([]scheduler.Effect, bool) {
	if b.Command == nil {
		return a.Schedule(now, b.Budget)
	}
	return a.Step(now, b.Command), false
}

// checkState compares the states, and the next deadlines.
func (p *harness) checkState(step randomrun.Step) string {
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
	if problem := p.twin.usageDifference(p.core.UsageOverTime(p.now)); problem != "" {
		return problem
	}
	if lines := p.events.differences(p.twin); len(lines) > 0 {
		return strings.Join(lines, "\n")
	}
	at, set := p.core.NextDeadline()
	if due, want := p.twin.NextDeadline(); want && (!set || at.After(due)) {
		return fmt.Sprintf("the core would sleep over the deadline %s", due)
	}
	// A command may leave work that is due at once; waking the core does it.
	if _, woken := step.Command.(scheduler.Wake); set && !at.After(p.now) && (woken || step.Command == nil) {
		return fmt.Sprintf("the core asks to be woken at %s, which is past", at)
	}
	return ""
}

// checkExplanations has the core explain pending asks. The second core explains, so that a side effect
// would show as a difference.
func (p *harness) checkExplanations() string {
	c := p.twin.total()
	for _, w := range p.twin.allocations {
		if w.node != "" {
			continue
		}
		want := p.twin.obstacle(c, w)
		if got := p.second.Explain(w.ask.Key, p.now); got.Verdict.Reason != want {
			return fmt.Sprintf("%s: the core says %q, the twin %q", w.ask.Key, got, scheduler.Verdict{Reason: want})
		} else if problem := gateProblem(got); problem != "" {
			return fmt.Sprintf("%s: %s", w.ask.Key, problem)
		}
	}
	return ""
}

// effectSummaries returns the effects as texts, that of each waiting ask for itself, without the messages which may
// differ.
func effectSummaries(effects []scheduler.Effect) []string {
	return effectsInOrder(effects, effectSummary, func(w scheduler.WaitingAsk) string {
		return fmt.Sprintf("%s (%s) waits: %s", w.Ask.Key, w.Ask.App, w.State)
	})
}

// effectsInOrder returns the effects as texts, that of each waiting ask for itself. The waiting asks of one evaluation
// are in no order (ASK-63), and sorted here.
func effectsInOrder(effects []scheduler.Effect, text func(scheduler.Effect) string,
	waits func(scheduler.WaitingAsk) string) (texts []string) {
	sorted := 0 // the texts before it are in their final order
	for _, e := range effects {
		wait, ok := e.(scheduler.AsksWait)
		if !ok {
			slices.Sort(texts[sorted:])
			texts = append(texts, text(e))
			sorted = len(texts)
			continue
		}
		for _, w := range wait.Asks {
			texts = append(texts, waits(w))
		}
	}
	slices.Sort(texts[sorted:])
	return texts
}

// effectSummary returns an effect as text, without the messages of rejections and releases, which may
// differ.
func effectSummary(e scheduler.Effect) string {
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
		return fmt.Sprintf("%s at %s: %s", e, e.At, e.Reason)
	case scheduler.Allocated:
		return fmt.Sprintf("%s: %s", e, randomrun.DescribeAsk(e.Ask))
	}
	return e.String()
}

// exactEffects returns the effects as exact texts, but for the order of waiting asks.
func exactEffects(effects []scheduler.Effect) string {
	return strings.Join(effectsInOrder(effects, scheduler.Effect.String, func(w scheduler.WaitingAsk) string {
		return scheduler.AsksWait{Asks: []scheduler.WaitingAsk{w}}.String()
	}), "\n")
}

func effectsText(effects []scheduler.Effect) string {
	var b strings.Builder
	for _, e := range effects {
		b.WriteString(e.String())
		b.WriteByte('\n')
	}
	return b.String()
}
