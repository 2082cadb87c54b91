package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// backOffTime exceeds the back-off of an ask after a preemption evaluation without victims.
const backOffTime = 6 * time.Second

// VictimWait returns the longest time without an event before a preemption: the back-off and, with a
// guarantee or fair shares, the preemption delay. 0: no ask may preempt under this configuration.
func VictimWait(conf configs.Partition) time.Duration {
	var longest time.Duration
	var look func(q *configs.Queue)
	look = func(q *configs.Queue) {
		if q.PriorityPreemption != policies.PriorityPreemptionDisabled {
			longest = max(longest, backOffTime)
		}
		if !q.Guaranteed.IsEmpty() || q.FairShare {
			longest = max(longest, maxPreemptionDelay(q)+backOffTime)
		}
		for i := range q.Children {
			look(&q.Children[i])
		}
	}
	if conf.PreemptionEnabled {
		look(&conf.Root)
	}
	return longest
}

// maxPreemptionDelay returns the longest preemption delay at q and below it.
func maxPreemptionDelay(q *configs.Queue) time.Duration {
	most := q.PreemptionDelay
	for i := range q.Children {
		most = max(most, maxPreemptionDelay(&q.Children[i]))
	}
	return most
}

// maxAttempts bounds how often a task is preempted and resubmitted. A correct scheduler stays below:
// preemptors have higher priority and are not preempted for the task.
const maxAttempts = 1000

// attempt is an ask of a task: the first, or one after a preemption.
type attempt struct {
	task   *Task
	number int // from 1
}

// waitIdle waits until the effects of all messages are processed: feasible asks are placed, victims are
// confirmed and, with Resubmit, ask again. With untilVictimWait it returns only when the back-off of
// pending asks has passed once more without an event.
func (r *Replay) waitIdle(ctx context.Context, untilVictimWait bool) error {
	if !r.Preempts {
		return r.Client.WaitIdle(ctx)
	}
	for waited := false; ; {
		before := r.Client.Counts()
		if err := r.Client.WaitIdle(ctx); err != nil {
			return err
		}
		if victims := r.Client.UnconfirmedVictims(); len(victims) > 0 {
			if err := r.confirmVictims(ctx, victims); err != nil {
				return err
			}
			if n := r.Client.Counts().Preempted; untilVictimWait {
				r.reportProgress("tasks preempted", n, n)
			}
			waited = false
			continue
		}
		unchanged := r.Client.Counts() == before
		if !untilVictimWait || len(r.Client.Waiting()) == 0 || waited && unchanged {
			return nil
		}
		if err := r.waitFor(ctx, r.VictimWait); err != nil {
			return err
		}
		waited = true
	}
}

// confirmVictims confirms victims. With Resubmit they ask again after the preemptors were placed.
func (r *Replay) confirmVictims(ctx context.Context, victims []Victim) error {
	keys := make([]objects.AllocationKey, len(victims))
	for i, v := range victims {
		keys[i] = v.Key
	}
	if err := r.Client.Confirm(ctx, keys...); err != nil {
		return err
	}
	var back []Ask
	for _, key := range keys {
		x := r.attempts[key]
		delete(r.asks, x.task.Name)
		if !r.Resubmit {
			continue
		}
		if x.number == maxAttempts {
			return fmt.Errorf("task %s was preempted %d times, which is the bound", x.task.Name, maxAttempts)
		}
		back = append(back, r.ask(x.task, x.number+1))
	}
	if len(back) == 0 {
		return nil
	}
	if err := r.Client.WaitIdle(ctx); err != nil {
		return err
	}
	return r.Client.Submit(ctx, back...)
}

// firstAsks returns the first asks of tasks.
func (r *Replay) firstAsks(tasks []*Task) []Ask {
	out := make([]Ask, len(tasks))
	for i, t := range tasks {
		out[i] = r.ask(t, 1)
	}
	return out
}

// ask creates an ask of a task. A resubmitted task has a new ask, created now.
func (r *Replay) ask(t *Task, number int) Ask {
	a := Ask{
		Key: objects.AllocationKey(t.Name), App: objects.AppID(t.Name), Amounts: t.Amounts, Created: traceTime(t.Created),
		Priority: r.priority(t.QoSClass()), Preempts: r.Preempts,
	}
	if number > 1 {
		a.Created = r.now
		a.Key += objects.AllocationKey(fmt.Sprintf("#%d", number))
		for r.attempts[a.Key].task != nil {
			a.Key += "'" // a task of the trace may have this name
		}
	}
	r.attempts[a.Key], r.asks[t.Name] = attempt{t, number}, a.Key
	return a
}

// priority returns the priority of asks of a QoS class.
func (r *Replay) priority(qos string) int32 {
	if !r.SendPriorities {
		return 0
	}
	return r.Priorities[qos]
}

// firstAskOf returns the first ask of the task of key.
func (r *Replay) firstAskOf(key objects.AllocationKey) objects.AllocationKey {
	return objects.AllocationKey(r.attempts[key].task.Name)
}

// waitFor advances the clock of the scheduler, or waits in real time if the scheduler uses its own.
func (r *Replay) waitFor(ctx context.Context, d time.Duration) error {
	r.now = r.now.Add(d)
	if r.Clock != nil {
		r.Clock.Set(r.now)
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
