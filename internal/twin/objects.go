package twin

import (
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// queue is a queue and its settings. What it holds is found by looking through the
// applications for its path.
type queue struct {
	path        objects.QueuePath
	conf        configs.Queue  // its Children are out of date as soon as one drains
	managed     bool           // by the configuration; else it was made for an application
	draining    bool           // it vanished from the configuration and still holds something
	dynamicConf *configs.Queue // what it was made as for an application, before the configuration named it
	children    []*queue
}

// node is a node; what it holds is found by looking through the work.
type node struct {
	id          objects.NodeID
	total       resources.Amounts
	schedulable bool
}

// app is an application; what it holds is found by looking through the work.
type app struct {
	id              objects.AppID
	leaf            objects.QueuePath
	user            security.User
	submitted       time.Time // of its oldest ask, if that is older than itself
	state           objects.State
	stateSince      time.Time         // when it entered the state
	stateEntry      uint64            // which of all entries into a state that was
	askedAgain      bool              // it has asked again after it had nothing left, and was given nothing since
	completionDue   bool              // it would be completed, but for its placeholders
	allocationsMade int               // allocations ever made for it
	firstAllocated  time.Time         // when the first of them was
	peak            resources.Amounts // the most that its allocations or its placeholders ever held
	groupPriority   *int32            // priority of its groups, as its tags say; nil: they do not
}

// allocation is an ask, or an allocation once it has a node.
type allocation struct {
	ask     *objects.Ask
	class   string // its priority class; empty: none
	created time.Time
	arrival uint64
	node    objects.NodeID // empty: pending

	boundAt         time.Time           // when it got its node
	preempting      bool                // was told to leave
	overdue         bool                // so long ago that nobody counts on it
	preemptingSince time.Time           // when it was
	nominated       objects.NodeID      // where it waits until others have left; empty: nowhere
	nominatedAt     time.Time           // since when
	victimLeaves    []objects.QueuePath // where others were told to leave for it
}

func (t *Twin) node(id objects.NodeID) *node {
	return find(t.nodes, func(n *node) bool { return n.id == id })
}

func (t *Twin) app(id objects.AppID) *app {
	return find(t.apps, func(a *app) bool { return a.id == id })
}

func (t *Twin) allocation(key objects.AllocationKey) *allocation {
	return find(t.allocations, func(w *allocation) bool { return w.ask.Key == key })
}

func (t *Twin) isForeign(key objects.AllocationKey) bool {
	return slices.ContainsFunc(t.foreign, func(f objects.Foreign) bool { return f.Key == key })
}

func (t *Twin) queue(path objects.QueuePath) *queue {
	return find(t.pathQueues(path), func(q *queue) bool { return q.path == path })
}

// pathQueues are the queues from the root to path, as far as they exist.
func (t *Twin) pathQueues(path objects.QueuePath) []*queue {
	queues := []*queue{t.root}
	for _, name := range path.Parts()[1:] {
		q := queues[len(queues)-1]
		next := find(q.children, func(c *queue) bool { return c.path == q.path.Child(name) })
		if next == nil {
			break
		}
		queues = append(queues, next)
	}
	return queues
}

// contains reports whether path is q or below it.
func (q *queue) contains(path objects.QueuePath) bool {
	return path == q.path || strings.HasPrefix(string(path), string(q.path)+".")
}

// allocationsOf are the pieces of work that belong to an application.
func (t *Twin) allocationsOf(id objects.AppID) []*allocation {
	return filter(t.allocations, func(w *allocation) bool { return w.ask.App == id })
}

func find[T any](list []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i]
	}
	return nil
}

func filter[T any](list []*T, is func(*T) bool) []*T {
	return slices.DeleteFunc(slices.Clone(list), func(x *T) bool { return !is(x) })
}
