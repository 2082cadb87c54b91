package twin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Stories in which something never happens show nothing about it.
func TestStoriesTellOfEverything(t *testing.T) {
	const stories = 60
	told := map[string]int{}
	for seed := range uint64(stories) {
		s := Random(seed+1, beats)
		core := scheduler.NewWith(s.Partition, s.RM.oracle(), objects.Options{Shapes: 70, Lifetimes: s.Lifetimes, Looks: 1 << 30})
		now := start()
		waiting := map[objects.AllocationKey]bool{}
		for _, b := range s.Beats {
			now = now.Add(b.After)
			effects, _ := b.act(core, now)
			for _, e := range effects {
				told[kindOf(e)]++
				if r, ok := e.(scheduler.AskRejected); ok && strings.Contains(r.Reason, ": asked") {
					if _, known := core.Partition().Allocation(r.Key); known {
						told["grew more than a quota leaves"]++
					}
				}
			}
			after := core.Snapshot(now)
			count(told, b, after, now)
			countOverdue(told, waiting, after)
		}
	}
	t.Log(told)
	for what, least := range map[string]int{
		"allocated": 20 * stories, "released": 9 * stories, "rejected ask": stories, "rejected application": stories,
		"Accepted: its first ask came in": 5 * stories, "Running: something was placed": 5 * stories,
		"Completing: nothing is pending and nothing runs": stories, "Running: it asked again": stories / 2,
		"Completed: it had nothing to do for long enough": stories, "Completed: the resource manager removed it": stories,
		"Expired: it ended long enough ago": stories / 2, "Expired: more have ended since than are kept": stories / 2,
		"preempted by quota:": stories, "queues above a max": 10 * stories, "queues above a max after a look": 5 * stories,
		"more than a quota leaves": 2 * stories, "no quota covers it": stories / 4, "grew more than a quota leaves": 5,
		"asks wait, and priority does not count": 50 * stories, "a class is named in vain": stories / 10,
		"released, timed out": 1, "a tag makes no sense": 5, "queues with a quota from tags": stories, "asks wait": 1000 * stories,
		"allocations have a budget": 60 * stories, "preempted by priority": stories / 4, "those with a budget leave": stories / 2, "a budget is exceeded": 10 * stories, "an ID is used again": stories / 2,
		"node resized": stories, "node drained": stories / 2, "node undrained": stories / 3, "node removed": stories, "ask cancelled": stories,
		"queue created": stories, "queue draining": stories / 4, "queue restored": stories / 10, "queue removed": stories,
		"room goes round, paused true": 2, "room goes round, paused false": 4, "pause ended": 2, "overdue": stories / 2, "overdue and left": stories / 10, "Completing: the resource manager removed it": stories,
	} {
		assert.Check(t, told[what] >= least, "%s happens %d times in %d stories, at least %d are due", what, told[what], stories, least)
	}
	assert.Check(t, told["rejected ask"] < told["beats"]/4, "too much of what is told is nonsense")
}

func kindOf(e scheduler.Effect) string {
	switch e := e.(type) {
	case scheduler.Allocated:
		return "allocated"
	case scheduler.AskRejected:
		switch reason, _, _ := strings.Cut(e.Reason, ":"); priorities.Reason(reason) {
		case priorities.ExceedsQuota:
			return "more than a quota leaves"
		case priorities.PriorityDisabled:
			return "a class is named in vain"
		case priorities.NeedsQuota:
			return "no quota covers it"
		}
		return "rejected ask"
	case scheduler.ApplicationRejected:
		return "rejected application"
	case scheduler.Refused:
		if strings.HasPrefix(e.What, "quota") {
			return "a tag makes no sense"
		}
	case scheduler.NodeChanged:
		return "node " + e.What.String()
	case scheduler.QueueChanged:
		return "queue " + e.What.String()
	case scheduler.AskCancelled:
		return "ask cancelled"
	case scheduler.Noted:
		if e.What == scheduler.NoteChurn {
			return fmt.Sprintf("room goes round, paused %t", !e.Until.IsZero())
		}
		return e.What.String()
	case scheduler.Released:
		if e.Type == scheduler.TimedOut {
			return "released, timed out"
		}
		if e.Type == scheduler.PreemptedByScheduler {
			return "preempted by " + strings.Fields(e.Message)[4]
		}
		return "released"
	case scheduler.ApplicationUpdated:
		return fmt.Sprintf("%s: %s", e.State, e.Why)
	}
	return fmt.Sprintf("%T", e)
}

func count(told map[string]int, b Beat, s *scheduler.Snapshot, now time.Time) {
	told["asks wait"] += s.Asks
	if s.IgnorePriority {
		told["asks wait, and priority does not count"] += s.Asks
	}
	told["beats"]++
	told["queues with a quota from tags"] += tagged(s.Root)
	above(told, s.Root)
	for _, v := range s.Budgets {
		told["allocations have a budget"] += v.Selected
		told["those with a budget leave"] += v.Leaving
		if v.Allowed < 0 {
			told["a budget is exceeded"]++
		}
	}
	c, ok := b.Command.(scheduler.AddApplication)
	if !ok {
		return
	}
	for e := range s.Completed.All() {
		if e.ID == c.App && e.Finished.Before(now) {
			told["an ID is used again"]++
			return
		}
	}
}

// tagged counts the dynamic leaves that may have what only tags say.
func tagged(q *scheduler.QueueView) (n int) {
	if gpu, ok := q.Max.Get("gpu"); ok && gpu == 1 && q.Leaf && !q.Managed {
		n++
	}
	for child := range q.Children.All() {
		n += tagged(child)
	}
	return n
}

// above counts the queues that are above a max that is enforced.
func above(told map[string]int, q *scheduler.QueueView) {
	if q.AboveMax != nil {
		told["queues above a max"]++
		if !q.AboveMax.Looked.IsZero() {
			told["queues above a max after a look"]++
		}
	}
	for child := range q.Children.All() {
		above(told, child)
	}
}

// countOverdue counts who has become overdue, and who is and leaves after all.
func countOverdue(told map[string]int, overdue map[objects.AllocationKey]bool, s *scheduler.Snapshot) {
	now := map[objects.AllocationKey]bool{}
	for n := range s.Nodes.All() {
		for w := range n.Work.All() {
			now[w.Ask.Key] = w.Overdue
			if w.Overdue && !overdue[w.Ask.Key] {
				told["overdue"]++
			}
		}
	}
	for key := range overdue {
		if !now[key] {
			told["overdue and left"]++
			delete(overdue, key)
		}
	}
	for key, is := range now {
		if is {
			overdue[key] = true
		}
	}
}
