package metrics

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// tellPartition tells what a snapshot has about its partition as a whole.
func tellPartition(to teller, s *scheduler.Snapshot) {
	to.count(asksPending, s.Asks)
	to.count(allocations, s.Allocations)
	to.say(strays, float64(s.Strays))
	for _, p := range s.Pauses {
		to.count(pauses, 1, string(p.A), string(p.B))
	}
	active := 0
	for n := range s.Nodes.All() {
		if n.Schedulable {
			active++
		}
	}
	to.count(nodes, active, "active")
	to.count(nodes, s.Nodes.Len()-active, "draining")
}

// sum is what is added up from a queue and all below it.
type sum struct {
	states     [states]int // applications
	preempting resources.Amounts
	nominated  int       // asks
	leaving    int       // allocations that were told and have not left
	overdue    int       // of these
	toldFirst  time.Time // when the first of these was told; zero: there is none
	aboveMax   int       // queues
}

func (s *sum) add(b *sum) {
	for i, n := range b.states {
		s.states[i] += n
	}
	s.preempting = s.preempting.Add(b.preempting)
	s.nominated += b.nominated
	s.leaving += b.leaving
	s.overdue += b.overdue
	s.aboveMax += b.aboveMax
	s.sawTold(b.toldFirst)
}

func (s *sum) addWork(w *scheduler.WorkView) {
	if w.Nominated != "" {
		s.nominated++
	}
	if !w.Leaving {
		return
	}
	s.leaving++
	s.preempting = s.preempting.Add(w.Ask.Amounts)
	s.sawTold(w.ToldAt)
	if w.Overdue {
		s.overdue++
	}
}

func (s *sum) sawTold(at time.Time) {
	if !at.IsZero() && (s.toldFirst.IsZero() || at.Before(s.toldFirst)) {
		s.toldFirst = at
	}
}

// tellSum tells what was added up from all queues. at is the time of the scrape: a snapshot
// may be older, when nothing has changed since.
func tellSum(to teller, s *sum, at time.Time) {
	for _, state := range []objects.State{objects.Running, objects.Resuming, objects.Failing, objects.Completing} {
		to.count(applications, s.states[state], stateWords[state])
	}
	to.count(nominations, s.nominated)
	to.count(unconfirmed, s.leaving)
	to.count(overdue, s.overdue)
	to.count(queuesAboveMax, s.aboveMax)
	age := time.Duration(0)
	if !s.toldFirst.IsZero() {
		age = max(0, at.Sub(s.toldFirst))
	}
	to.say(oldestUnconfirmed, age.Seconds())
}
