package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// auditInterval is the number of trace seconds with events between two audits, each of which checks the
// whole cluster.
const auditInterval = 1000

// traceSecond has the tasks that end and arrive in one second of a trace.
type traceSecond struct {
	second           int64
	ending, arriving []*Task
}

// Lifetimes submits and releases tasks at the times of the trace: in each second tasks end and then
// tasks arrive, and all feasible asks are placed before the next second. A task that is pending at its
// end is withdrawn. A task that ends in the second of its arrival, or earlier, is released right after
// its placement. A victim ends unless it is resubmitted. The client must be registered.
func (r *Replay) Lifetimes(ctx context.Context) error {
	tasks := r.prepare()
	r.setTime(0)
	if err := r.addNodes(ctx, false); err != nil {
		return err
	}
	if err := r.addApplications(ctx, tasks); err != nil {
		return err
	}
	moments := traceSeconds(tasks)
	for i, m := range moments {
		if err := r.playSecond(ctx, m); err != nil {
			return fmt.Errorf("second %d of the trace: %w", m.second, err)
		}
		if i%auditInterval == 0 || i == len(moments)-1 {
			if err := r.audit(ctx); err != nil {
				return fmt.Errorf("second %d of the trace: %w", m.second, err)
			}
		}
		r.reportProgress("seconds replayed", i+1, len(moments))
	}
	return r.checkEmpty()
}

// playSecond replays one second. Ending and arriving tasks are in separate messages, with a wait for
// idleness between them, so that every run has the same order.
func (r *Replay) playSecond(ctx context.Context, m traceSecond) error {
	r.setTime(m.second)
	if err := r.release(ctx, m.ending); err != nil {
		return err
	}
	if len(m.arriving) == 0 {
		return nil
	}
	if err := r.Client.Submit(ctx, r.firstAsks(m.arriving)...); err != nil {
		return err
	}
	if err := r.waitIdle(ctx, false); err != nil {
		return err
	}
	var over []*Task
	for _, t := range m.arriving {
		if t.Deleted <= t.Created {
			over = append(over, t)
		}
	}
	return r.release(ctx, over)
}

// release releases tasks, in the order of the keys of their asks; rejected asks have nothing to
// release.
func (r *Replay) release(ctx context.Context, tasks []*Task) error {
	var keys []objects.AllocationKey
	for _, t := range tasks {
		key, there := r.asks[t.Name]
		delete(r.asks, t.Name)
		if there && !r.Client.rejected(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return r.releaseKeys(ctx, keys)
}

// releaseKeys releases asks and allocations, if there are any.
func (r *Replay) releaseKeys(ctx context.Context, keys []objects.AllocationKey) error {
	if len(keys) == 0 {
		return nil
	}
	if err := r.Client.Release(ctx, keys...); err != nil {
		return err
	}
	return r.waitIdle(ctx, false)
}

// traceSeconds returns the seconds with events, in order.
func traceSeconds(tasks []*Task) []traceSecond {
	all := map[int64]*traceSecond{}
	when := func(second int64) *traceSecond {
		if all[second] == nil {
			all[second] = &traceSecond{second: second}
		}
		return all[second]
	}
	for _, t := range tasks {
		m := when(t.Created)
		m.arriving = append(m.arriving, t)
		if t.Deleted > t.Created {
			m := when(t.Deleted)
			m.ending = append(m.ending, t)
		}
	}
	var out []traceSecond
	for _, second := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[second])
	}
	return out
}

// checkEmpty checks that every task has ended.
func (r *Replay) checkEmpty() error {
	if left := len(r.Client.Running()) + len(r.Client.Waiting()); left > 0 {
		return fmt.Errorf("the trace has ended, and %d tasks have not", left)
	}
	return nil
}
