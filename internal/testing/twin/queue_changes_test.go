package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// queueState is the state of a queue that effects have.
type queueState struct{ draining, managed bool }

func (t *Twin) queueStates() map[objects.QueuePath]queueState {
	all := map[objects.QueuePath]queueState{}
	var below func(q *queue)
	below = func(q *queue) {
		all[q.path] = queueState{q.draining, q.managed}
		for _, child := range q.children {
			below(child)
		}
	}
	below(t.root)
	return all
}

// compareQueues records the differences to the last queue states. The twin does not know the order of
// changes within one command.
func (t *Twin) compareQueues() {
	is := t.queueStates()
	note := func(path objects.QueuePath, what objects.QueueChange, managed bool) {
		t.queueChanges = append(t.queueChanges, scheduler.QueueChanged{Queue: path, Change: what, Dynamic: !managed}.String())
	}
	for path, was := range t.lastQueueStates {
		now, stays := is[path]
		switch {
		case !stays:
			note(path, objects.QueueRemoved, was.managed)
		case now.draining && !was.draining:
			note(path, objects.QueueDraining, now.managed)
		case was.draining && !now.draining:
			note(path, objects.QueueRestored, now.managed)
		}
	}
	for path, now := range is {
		if _, seen := t.lastQueueStates[path]; !seen && !now.managed {
			note(path, objects.QueueCreated, false)
		}
	}
	t.lastQueueStates = is
	slices.Sort(t.queueChanges)
}
