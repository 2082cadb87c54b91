package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// auditInterval is how many moments of a trace pass between two audits: each looks at the
// whole cluster.
const auditInterval = 1000

// traceSecond is what happens in one second of a trace.
type traceSecond struct {
	second           int64
	ending, arriving []*Task
}

// Lifetimes lives through a trace: in the order of time tasks end and then tasks arrive,
// and each time all that can be placed is placed before anything else happens. A task
// that still waits when it should end is withdrawn. One that ends when it arrives, or
// before, is released right after it was placed. One that had to leave before is no more,
// unless it comes back. Requires: the client has registered.
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
		r.reportProgress("moments lived through", i+1, len(moments))
	}
	return r.checkEmpty()
}

// playSecond lets one moment happen. What ends and what arrives go in messages of their own
// with a rest in between, so that the order is the same in every run.
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

// release ends tasks, in the order of the keys of their asks. Rejected tasks have none.
func (r *Replay) release(ctx context.Context, tasks []*Task) error {
	var keys []objects.AllocationKey
	for _, t := range tasks {
		key, there := r.asks[t.Name]
		delete(r.asks, t.Name)
		if there && !r.Client.rejected(key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	if err := r.Client.Release(ctx, keys...); err != nil {
		return err
	}
	return r.waitIdle(ctx, false)
}

// traceSeconds are the seconds in which something happens, in order.
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
	for _, second := range sortedKeys(all) {
		out = append(out, *all[second])
	}
	return out
}

// checkEmpty checks that everything has ended.
func (r *Replay) checkEmpty() error {
	if left := len(r.Client.Running()) + len(r.Client.Waiting()); left > 0 {
		return fmt.Errorf("the trace is over, and %d tasks are left", left)
	}
	return nil
}
