package randomrun

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// addOperations makes operators end and move work in some runs. It draws after everything else, so that the rest of a
// run does not depend on it.
func (s *Run) addOperations(source rand.Source) {
	r := rand.New(source)
	if r.IntN(4) == 0 {
		s.AddOperations(r, 1+r.IntN(4))
	}
}

// AddOperations inserts count actions of operators that end or move work, anywhere, and mostly ends what can be ended
// after a while.
func (s *Run) AddOperations(r *rand.Rand, count int) {
	if len(s.Steps) < 4 {
		return
	}
	for range count {
		from := r.IntN(len(s.Steps))
		begin, end := s.operation(r, from)
		if until := from + 1 + r.IntN(80); end != (scheduler.Operate{}) && until <= len(s.Steps) {
			s.Steps = slices.Insert(s.Steps, until, Step{Command: end, After: time.Duration(r.IntN(2)) * time.Second})
		}
		s.Steps = slices.Insert(s.Steps, from, Step{Command: begin})
	}
}

// operation returns an action before step from, and the one that ends it; zero: none does.
func (s *Run) operation(r *rand.Rand, from int) (begin, end scheduler.Operate) {
	queues := s.named().queues
	switch r.IntN(8) {
	case 0, 1, 2:
		begin = scheduler.Operate{Action: scheduler.MoveApplication, App: s.appBefore(r, from), Queue: s.leaf(r)}
		if r.IntN(2) == 0 {
			end = scheduler.Operate{Action: scheduler.MoveApplication, App: begin.App, Queue: queues[r.IntN(len(queues))]}
		}
		return begin, end
	case 3:
		path := queues[r.IntN(len(queues))]
		return scheduler.Operate{Action: scheduler.DrainQueue, Queue: path},
			scheduler.Operate{Action: scheduler.StartQueue, Queue: path}
	case 4, 5:
		nodes := s.named().nodes
		id := nodes[r.IntN(len(nodes))]
		return scheduler.Operate{Action: scheduler.DrainNode, Node: id},
			scheduler.Operate{Action: scheduler.UncordonNode, Node: id}
	}
	return scheduler.Operate{Action: scheduler.CancelApplication, App: s.appBefore(r, from)}, end
}

// leaf returns a leaf of the first configuration.
func (s *Run) leaf(r *rand.Rand) objects.QueuePath {
	path, q := objects.RootPath, &s.Partition.Root
	for len(q.Children) > 0 {
		q = &q.Children[r.IntN(len(q.Children))]
		path = path.Child(q.Name)
	}
	return path
}

// appBefore returns one of the last applications that were submitted before a step, or one that does not exist.
func (s *Run) appBefore(r *rand.Rand, step int) objects.AppID {
	recent := []objects.AppID{"nothing"}
	for i := step - 1; i >= 0 && len(recent) < 6; i-- {
		if c, ok := s.Steps[i].Command.(scheduler.AddApplication); ok {
			recent = append(recent, c.App)
		}
	}
	return recent[r.IntN(len(recent))]
}
