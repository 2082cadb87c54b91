package randomrun

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// addOperators makes operators hold applications, stop queues and cordon nodes in some runs, and mostly end that after
// a while. It draws after everything else, so that the rest of a run does not depend on it.
func (s *Run) addOperators(source rand.Source) {
	r := rand.New(source)
	if r.IntN(3) > 0 || len(s.Steps) < 4 {
		return
	}
	named := s.named()
	for range 1 + r.IntN(6) {
		begin, end := scheduler.Operate{Action: scheduler.StopQueue}, scheduler.Operate{Action: scheduler.StartQueue}
		switch r.IntN(3) {
		case 0:
			begin.Queue = named.queues[r.IntN(len(named.queues))]
			end.Queue = begin.Queue
		case 1:
			begin.Action, end.Action = scheduler.CordonNode, scheduler.UncordonNode
			begin.Node = named.nodes[r.IntN(len(named.nodes))]
			end.Node = begin.Node
		default:
			begin.Action, end.Action = scheduler.HoldApplication, scheduler.ReleaseApplication
			begin.App = named.apps[r.IntN(len(named.apps))]
			end.App = begin.App
		}
		from := r.IntN(len(s.Steps))
		if until := from + 1 + r.IntN(80); until <= len(s.Steps) {
			s.Steps = slices.Insert(s.Steps, until, Step{Command: end, After: time.Duration(r.IntN(2)) * time.Second})
		}
		s.Steps = slices.Insert(s.Steps, from, Step{Command: begin})
	}
}

// names holds the names that occur in a run.
type names struct {
	apps   []objects.AppID
	nodes  []objects.NodeID
	queues []objects.QueuePath
}

// named returns the names in a run, and one of each kind that it does not have.
func (s *Run) named() names {
	n := names{apps: []objects.AppID{"nothing"}, nodes: []objects.NodeID{"nothing"},
		queues: []objects.QueuePath{"root.nothing"}}
	for _, step := range s.Steps {
		switch c := step.Command.(type) {
		case scheduler.AddApplication:
			n.apps = append(n.apps, c.App)
		case scheduler.AddNode:
			n.nodes = append(n.nodes, c.Node)
		}
	}
	n.addQueues(objects.RootPath, &s.Partition.Root)
	return n
}

func (n *names) addQueues(path objects.QueuePath, q *configs.Queue) {
	n.queues = append(n.queues, path)
	for i := range q.Children {
		n.addQueues(path.Child(q.Children[i].Name), &q.Children[i])
	}
}
