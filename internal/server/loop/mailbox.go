package loop

import (
	"context"
	"errors"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// ErrEnded is returned by calls that wait for a Loop that has stopped running.
var ErrEnded = errors.New("the scheduler has stopped")

// Send puts commands into the mailbox (RMI-31). They are applied one after the other, with no
// decision in between. Send never blocks: the API calls Wait before it reads more messages. ok is
// false when the Loop has ended: then the commands are not applied, and the caller must answer
// them. A partition may be removed between Cluster.Partition and Send.
func (l *Loop) Send(cmds ...scheduler.Command) (ok bool) {
	return len(cmds) == 0 || l.enqueue(envelope{cmds: cmds})
}

// Call is Send, and waits for the effects of exactly these commands, which are delivered to the
// Sink as well.
func (l *Loop) Call(ctx context.Context, cmds ...scheduler.Command) ([]scheduler.Effect, error) {
	reply := make(chan []scheduler.Effect, 1)
	if !l.enqueue(envelope{cmds: cmds, reply: reply}) {
		return nil, ErrEnded
	}
	return await(ctx, l, reply)
}

// Totals are the number of running applications (QUE-44) and of allocations. They are counts that the partition keeps.
func (l *Loop) Totals(ctx context.Context) (running, allocations int, err error) {
	type totals struct{ running, allocations int }
	n, err := ask(ctx, l, func() totals {
		part := l.core.Partition()
		_, _, allocations := part.Counts()
		return totals{part.Root().Running(), allocations}
	})
	return n.running, n.allocations, err
}

// Check recounts the accounting.
func (l *Loop) Check(ctx context.Context) error {
	err, failed := ask(ctx, l, l.core.Check)
	return errors.Join(err, failed)
}

// Explain explains the ask or allocation of a key; see scheduler.Core.Explain (OBS-45).
func (l *Loop) Explain(ctx context.Context, key objects.AllocationKey) (*scheduler.Explanation, error) {
	return slowQuery(ctx, l,
		func(now time.Time) *scheduler.Explanation { return l.explained(l.core.Explain(key, now), now) })
}

// ExplainWithVictims is Explain with the victims of the ask, or what it lacks; see scheduler.Core.ExplainWithVictims.
func (l *Loop) ExplainWithVictims(ctx context.Context, key objects.AllocationKey) (*scheduler.Explanation, error) {
	return slowQuery(ctx, l, func(now time.Time) *scheduler.Explanation {
		return l.explained(l.core.ExplainWithVictims(key, now), now)
	})
}

// ExplainApplication explains the pending asks of an application; see scheduler.Core.ExplainApplication.
func (l *Loop) ExplainApplication(ctx context.Context, id objects.AppID) (*scheduler.ApplicationExplanation, error) {
	return slowQuery(ctx, l, func(now time.Time) *scheduler.ApplicationExplanation {
		e := l.core.ExplainApplication(id, now)
		e.AddPauses(l.pauses(now))
		return e
	})
}

// explained is an explanation with the pauses of the loop (EXP-19).
func (l *Loop) explained(e *scheduler.Explanation, now time.Time) *scheduler.Explanation {
	e.AddPauses(l.pauses(now))
	return e
}

// pauses are the reasons for which the loop places nothing now.
func (l *Loop) pauses(now time.Time) (p scheduler.Pauses) {
	if r := l.recovery; r.quiet > 0 && !r.begin.IsZero() && now.Before(r.until) {
		p.Recovery = r.begin.Add(recoveryBound * r.quiet)
	}
	if l.rate.every > 0 && now.Before(l.rate.until) {
		p.PlacementRate = l.rate.until
	}
	return p
}

// slowQuery has the loop answer a query that looks at every node; one runs at a time, like DryRun (OBS-45).
func slowQuery[T any](ctx context.Context, l *Loop, answer func(now time.Time) *T) (*T, error) {
	if err := l.lockQuery(ctx); err != nil {
		return nil, err
	}
	defer func() { <-l.queryLock }()
	e, err := ask(ctx, l, func() *T {
		if ctx.Err() != nil {
			return nil // the caller does not wait any more
		}
		return answer(l.now())
	})
	if err == nil && e == nil {
		err = ctx.Err()
	}
	return e, err
}

// lockQuery waits until no other slow query runs (OBS-45).
func (l *Loop) lockQuery(ctx context.Context) error {
	select {
	case l.queryLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ended:
		return ErrEnded
	}
}

// OperatorState returns what operators have switched (OPS-4).
func (l *Loop) OperatorState(ctx context.Context) (scheduler.OperatorState, error) {
	return ask(ctx, l, l.core.OperatorState)
}

// UsageOverTime returns the usage over time as of now (FAI-7).
func (l *Loop) UsageOverTime(ctx context.Context, now time.Time) ([]fairness.Kept, error) {
	return ask(ctx, l, func() []fairness.Kept { return l.core.UsageOverTime(now) })
}

// EnforcesRunTimes reports whether any allocation is released when it runs for too long (RUN-5).
func (l *Loop) EnforcesRunTimes(ctx context.Context) (bool, error) {
	return ask(ctx, l, l.core.EnforcesRunTimes)
}

// Preemptions are the recorded preemptions.
func (l *Loop) Preemptions(ctx context.Context) (preemption.Preemptions, error) {
	return ask(ctx, l, l.core.Preemptions)
}

// Preemption is the preemption of that number; nil: there is none, or it was dropped.
func (l *Loop) Preemption(ctx context.Context, number uint64) (*preemption.Preemption, error) {
	return ask(ctx, l, func() *preemption.Preemption {
		if r, ok := l.core.Preemption(number); ok {
			return &r
		}
		return nil
	})
}

// Budgets are the disruption budgets of the partition with their counts.
func (l *Loop) Budgets(ctx context.Context) ([]scheduler.BudgetView, error) {
	return ask(ctx, l, l.core.Budgets)
}

// DryRun returns the result of a hypothetical ask; see scheduler.Core.DryRun. One query runs at a
// time, so that commands and decisions are served between queries.
func (l *Loop) DryRun(ctx context.Context, h scheduler.DryRunRequest) (*scheduler.DryRunResult, error) {
	type answer struct {
		out *scheduler.DryRunResult
		err error
	}
	if err := l.lockQuery(ctx); err != nil {
		return nil, err
	}
	defer func() { <-l.queryLock }()
	a, err := ask(ctx, l, func() answer {
		if ctx.Err() != nil {
			return answer{} // the caller does not wait any more
		}
		if l.sync {
			l.deliver() // the resource manager must know all placements before its predicates are called (ADR 16)
		}
		out, err := l.core.DryRun(h, l.now())
		return answer{out, err}
	})
	return a.out, errors.Join(err, a.err)
}

// ask runs look on the goroutine of Run and returns its result.
func ask[T any](ctx context.Context, l *Loop, look func() T) (T, error) {
	reply := make(chan T, 1)
	if !l.enqueue(envelope{run: func() { reply <- look() }}) {
		var none T
		return none, ErrEnded
	}
	return await(ctx, l, reply)
}

// isFull reports whether Wait would block.
func (l *Loop) isFull() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fullLocked()
}

// Depth is the number of commands in the mailbox.
func (l *Loop) Depth() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queuedCommands
}

// fullLocked reports whether Wait would block. The caller must hold l.mu.
func (l *Loop) fullLocked() bool {
	return l.queuedCommands >= l.opt.HighWater || l.sinkBacklog.Load() >= l.maxSinkBacklog()
}

// maxSinkBacklog returns the number of effects that may wait for the Sink before Wait blocks: far more than
// those of decisions, which pause earlier.
func (l *Loop) maxSinkBacklog() int64 { return 4 * int64(l.opt.MaxUndelivered) }

// noteSinkBacklog records how many effects the Sink has not finished, and ends the waits that
// this allows.
func (l *Loop) noteSinkBacklog(effects int) {
	before := l.sinkBacklog.Swap(int64(effects))
	if before < l.maxSinkBacklog() || int64(effects) >= l.maxSinkBacklog() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mailboxDrained != nil {
		close(l.mailboxDrained)
		l.mailboxDrained = nil
	}
}

// Wait blocks while more commands wait than HighWater allows, or more effects than maxSinkBacklog,
// and so slows down a client that is faster than the Core or does not read (RMI-44). It returns
// early when ctx or the Loop ends.
func (l *Loop) Wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		if !l.fullLocked() {
			l.mu.Unlock()
			return nil
		}
		if l.mailboxDrained == nil {
			l.mailboxDrained = make(chan struct{})
		}
		drained := l.mailboxDrained
		l.mu.Unlock()
		select {
		case <-drained:
		case <-ctx.Done():
			return ctx.Err()
		case <-l.ended:
			return ErrEnded
		}
	}
}

// enqueue puts an envelope into the mailbox, unless the Loop has ended.
func (l *Loop) enqueue(item envelope) (ok bool) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.mailbox = append(l.mailbox, item)
	l.queuedCommands += len(item.cmds)
	l.hasMail.Store(true)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

func await[T any](ctx context.Context, l *Loop, reply <-chan T) (T, error) {
	var none T
	select {
	case got := <-reply:
		return got, nil
	case <-ctx.Done():
		return none, ctx.Err()
	case <-l.ended:
	}
	select {
	case got := <-reply: // the last envelope was handled
		return got, nil
	default:
		return none, ErrEnded
	}
}
