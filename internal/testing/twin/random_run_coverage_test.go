package twin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Every kind of event must occur in the random runs.
func TestRandomRuns_CoverEveryBehaviour(t *testing.T) {
	const runs = 120
	occurrences := map[string]int{}
	for seed := range uint64(runs) {
		s := randomrun.RandomRun(seed+1, stepsPerRun)
		core := scheduler.NewWith(s.Partition, s.Oracle.Oracle(),
			objects.Options{Shapes: 70, Lifetimes: s.Lifetimes, Evaluations: 1 << 30})
		now := randomrun.StartTime()
		waiting, orphaned := map[objects.AllocationKey]bool{}, map[objects.AllocationKey]bool{}
		for _, b := range s.Steps {
			switch c := b.Command.(type) {
			case scheduler.SetAttributes:
				occurrences["attributes replaced"]++
			case scheduler.AddNode:
				if strings.Contains(c.Attributes[constraints.TaintsAttribute], string(constraints.PreferNoSchedule)) {
					occurrences["a node is avoided by a taint"]++
				}
			}
			now = now.Add(b.After)
			effects, _ := applyStep(b, core, now)
			for _, e := range effects {
				occurrences[effectKind(e)]++
				occurrences["preempted before its minimum run time"] += boolToInt(preemptedYoung(core, e, now))
				if a, ok := e.(scheduler.Allocated); ok {
					occurrences[preferenceOf(a.Ask)]++
					if orphaned[a.Ask.Key] {
						occurrences["an orphaned allocation is taken"]++
					}
				}
				if o, ok := e.(scheduler.Event); ok && o.Kind == scheduler.EventOrphaned {
					orphaned[o.Subject.Key] = true
				}
				if r, ok := e.(scheduler.AskRejected); ok && strings.Contains(r.Reason, ": asked") {
					if _, known := core.Partition().Allocation(r.Key); known {
						occurrences["grew more than a quota leaves"]++
					}
				}
				if r, ok := e.(scheduler.AskRejected); ok && r.Kind == scheduler.RejectedContradiction {
					occurrences["a contradiction"]++
				}
			}
			countPercents(occurrences, core.Partition())
			after := core.Snapshot(now)
			countStep(occurrences, b, after, now)
			countOverdue(occurrences, waiting, after)
		}
	}
	t.Log(occurrences)
	for what, least := range map[string]int{
		"allocated": 20 * runs, "released": 9 * runs, "rejected ask": runs, "rejected application": runs,
		"Accepted: the first ask arrived": 5 * runs, "Running: the first ask was placed": 5 * runs,
		"Completing: nothing is pending and nothing runs": runs, "Running: a new ask arrived": runs / 2,
		"Completed: the completing timeout has passed": runs, "Completed: the resource manager removed it": runs,
		"Expired: the retention time has passed": runs / 2, "Expired: the history is full": runs / 2,
		"preempted (quota):": runs * 3 / 4, "queues above a max": 10 * runs, "queues above a max after a look": 5 * runs,
		"more than a quota leaves": 2 * runs, "no quota covers it": runs / 4, "grew more than a quota leaves": 5,
		"a contradiction":                        runs,
		"asks wait, and priority does not count": 50 * runs, "an unknown class is named": runs / 10,
		"a constraint cannot be read": 5, "attributes replaced": 5, "released, timed out": 1, "a tag makes no sense": 5,
		"queues with a quota from tags": runs, "asks wait": 1000 * runs,
		"allocations have a budget": 60 * runs, "preempted (priority)": runs / 6, "orphaned": runs,
		"preempted (fair":                 runs / 60,
		"an orphaned allocation is taken": runs / 10,
		"those with a budget leave":       runs / 2, "a budget is exceeded": 10 * runs, "an ID is used again": runs / 2,
		"node resized": runs, "node made unschedulable": runs / 2, "node made schedulable": runs / 3, "node removed": runs,
		"node overcommitted": runs, "node no longer overcommitted": runs / 2, "ask cancelled": runs,
		"queue created": runs, "queue draining": runs / 4, "queue restored": runs / 10, "queue removed": runs,
		"allocated with preferred node affinity":                 runs / 2,
		"allocated with preferred pod affinity or anti-affinity": runs / 8, "allocated with preferred spread": runs / 4,
		"a node is avoided by a taint": runs / 4,
		"an operator: put on hold":     runs / 20, "an operator: cancelled": runs / 40, "an operator: released": runs / 40,
		"an operator: stopped": runs / 10, "an operator: started": runs / 10, "an operator: cordoned": runs / 10,
		"an operator: uncordoned": runs / 20, "an operator: set draining": runs / 40, "an operator: moved": runs / 20,
		"a max in percent above zero": 100 * runs, "a guarantee in percent above zero": 100 * runs,
		"a guarantee is scaled down": 50 * runs, "above a max in percent": runs, "a max in percent settles": runs / 4,
		"preempted before its minimum run time": runs / 40,
		"preemption cycle, cool-down true":      2, "preemption cycle, cool-down false": 4, "cool-down ended": 2,
		"released, it ran for too long": runs / 2, "a wish to run for too long": runs / 4,
		"a run time cannot be read": runs / 4, "a reported run time cannot be read": runs / 15,
		"a start cannot be read": runs / 15,
		"overdue":                runs / 2, "overdue and left": runs / 10,
		"Completing: the resource manager removed it": runs,
	} {
		assert.Check(t, occurrences[what] >= least, "%s happens %d times in %d runs, at least %d are due", what,
			occurrences[what], runs, least)
	}
	assert.Check(t, occurrences["rejected ask"] < occurrences["beats"]/4, "too much of what is told is nonsense")
}

// preferenceOf is what an ask prefers.
func preferenceOf(ask *objects.Ask) string {
	switch around := ask.Affinity(); {
	case len(around.PreferredSpreadConstraints()) > 0:
		return "allocated with preferred spread"
	case len(around.PreferredAffinityTerms())+len(around.PreferredAntiAffinityTerms()) > 0:
		return "allocated with preferred pod affinity or anti-affinity"
	case ask.Constraints().Prefers():
		return "allocated with preferred node affinity"
	}
	return "allocated without preferences"
}

func effectKind(e scheduler.Effect) string {
	switch e := e.(type) {
	case scheduler.Allocated:
		return "allocated"
	case scheduler.AskRejected:
		if wish, ok := strings.CutPrefix(e.Reason, "run time: "); ok {
			if strings.HasPrefix(wish, "it wishes") {
				return "a wish to run for too long"
			}
			return "a run time cannot be read"
		}
		if strings.HasPrefix(e.Reason, "tag ") {
			return "a constraint cannot be read"
		}
		switch reason, _, _ := strings.Cut(e.Reason, ":"); priorities.Reason(reason) {
		case priorities.ExceedsQuota:
			return "more than a quota leaves"
		case priorities.PriorityDisabled:
			return "an unknown class is named"
		case priorities.NeedsQuota:
			return "no quota covers it"
		}
		return "rejected ask"
	case scheduler.ApplicationRejected:
		return "rejected application"
	case scheduler.Refused:
		if strings.HasPrefix(e.Subject, "run time") {
			return "a reported run time cannot be read"
		}
		if strings.HasPrefix(e.Subject, "start") {
			return "a start cannot be read"
		}
		if strings.HasPrefix(e.Subject, "quota") {
			return "a tag makes no sense"
		}
	case scheduler.OperatorActed:
		return "an operator: " + e.Action.Info().Done
	case scheduler.NodeChanged:
		return "node " + e.Change.String()
	case scheduler.QueueChanged:
		return "queue " + e.Change.String()
	case scheduler.AskCancelled:
		return "ask cancelled"
	case scheduler.Event:
		if e.Kind == scheduler.EventPreemptionCycle {
			return fmt.Sprintf("preemption cycle, cool-down %t", !e.Until.IsZero())
		}
		if e.Kind == scheduler.EventReservationEnded {
			return e.Kind.String() + ", " + e.ReservationEnd.String()
		}
		return e.Kind.String()
	case scheduler.Released:
		if strings.HasPrefix(e.Message, "it has run") {
			return "released, it ran for too long"
		}
		if e.Type == scheduler.TimedOut {
			return "released, timed out"
		}
		if e.Type == scheduler.PreemptedByScheduler {
			return "preempted " + strings.Fields(e.Message)[1]
		}
		return "released"
	case scheduler.ApplicationUpdated:
		return fmt.Sprintf("%s: %s", e.State, e.Reason)
	}
	return fmt.Sprintf("%T", e)
}

func countStep(occurrences map[string]int, b randomrun.Step, s *scheduler.Snapshot, now time.Time) {
	occurrences["asks wait"] += s.Asks
	if s.IgnorePriority {
		occurrences["asks wait, and priority does not count"] += s.Asks
	}
	occurrences["beats"]++
	occurrences["queues with a quota from tags"] += countTaggedLeaves(s.Root)
	countAboveMax(occurrences, s.Root)
	for _, v := range s.Budgets {
		occurrences["allocations have a budget"] += v.Selected
		occurrences["those with a budget leave"] += v.Preempting
		if v.Allowed < 0 {
			occurrences["a budget is exceeded"]++
		}
	}
	c, ok := b.Command.(scheduler.AddApplication)
	if !ok {
		return
	}
	for e := range s.Completed.All() {
		if e.ID == string(c.App) && e.Finished.Before(now) {
			occurrences["an ID is used again"]++
			return
		}
	}
}

// countTaggedLeaves counts the dynamic leaves with settings that only tags set.
func countTaggedLeaves(q *scheduler.QueueView) (n int) {
	if gpu, ok := q.Max.Get("gpu"); ok && gpu == 1 && q.Leaf && !q.Managed {
		n++
	}
	for child := range q.Children.All() {
		n += countTaggedLeaves(child)
	}
	return n
}

// countAboveMax counts the queues above an enforced max.
func countAboveMax(occurrences map[string]int, q *scheduler.QueueView) {
	if q.AboveMax != nil {
		occurrences["queues above a max"]++
		if !q.AboveMax.Evaluated.IsZero() {
			occurrences["queues above a max after a look"]++
		}
	}
	for child := range q.Children.All() {
		countAboveMax(occurrences, child)
	}
}

// countOverdue counts allocations that become overdue, and overdue ones that are released.
func countOverdue(occurrences map[string]int, overdue map[objects.AllocationKey]bool, s *scheduler.Snapshot) {
	now := map[objects.AllocationKey]bool{}
	for n := range s.Nodes.All() {
		for w := range n.Allocations.All() {
			now[w.Ask.Key] = w.Overdue
			if w.Overdue && !overdue[w.Ask.Key] {
				occurrences["overdue"]++
			}
		}
	}
	for key := range overdue {
		if !now[key] {
			occurrences["overdue and left"]++
			delete(overdue, key)
		}
	}
	for key, is := range now {
		if is {
			overdue[key] = true
		}
	}
}
