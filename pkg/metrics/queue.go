package metrics

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// stateWords are the states of applications that live, as labels.
var stateWords = [...]string{
	objects.New: "new", objects.Accepted: "accepted", objects.Running: "running", objects.Resuming: "resuming",
	objects.Failing: "failing", objects.Completing: "completing",
}

const states = len(stateWords)

// viewer tells of queues.
type viewer struct {
	teller
	ended map[objects.QueuePath][endingsOfQueues]uint64
}

// queue tells of q and all below it, and adds them up.
func (v viewer) queue(q *scheduler.QueueView) (all sum) {
	for child := range q.Children.All() {
		below := v.queue(child)
		all.add(&below)
	}
	for a := range q.Applications.All() {
		if int(a.State) < states {
			all.states[a.State]++
		}
		for w := range a.Work.All() {
			all.addWork(w)
		}
	}
	if q.AboveMax != nil {
		all.aboveMax++
	}
	if q.Leaf {
		v.applications(string(q.Path), &all)
	}
	v.resources(q, all.preempting)
	return all
}

func (v viewer) applications(path string, s *sum) {
	for state, word := range stateWords {
		if word != "" {
			v.count(queueApplications, s.states[state], path, word)
		}
	}
	for how, n := range v.ended[objects.QueuePath(path)] {
		v.say(queueApplications, float64(n), path, endingWords[how])
	}
}

// resources tells the bounds and the use of q. What it uses none of is said to be zero only
// where it has a bound for it.
func (v viewer) resources(q *scheduler.QueueView, preempting resources.Amounts) {
	path := string(q.Path)
	var bounded []string
	for name, n := range q.Max.All() {
		bounded = append(bounded, name)
		v.say(queueResources, float64(n), path, "max", name)
	}
	for name, n := range q.Guaranteed.All() {
		bounded = append(bounded, name)
		v.say(queueResources, float64(n), path, "guaranteed", name)
	}
	for _, use := range []struct {
		word string
		of   resources.Amounts
	}{{"allocated", q.Allocated}, {"pending", q.Pending}, {"preempting", preempting}} {
		names := append([]string(nil), bounded...)
		for name := range use.of.All() {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			v.say(queueResources, float64(use.of.Get(name)), path, use.word, name)
		}
	}
	if q.MaxApplications > 0 {
		v.say(queueResources, float64(q.MaxApplications), path, "maxRunningApps", "apps")
	}
}
