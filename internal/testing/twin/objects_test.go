package twin

import (
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// queue is a queue and its settings. Its allocations are found by searching the applications for its
// path.
type queue struct {
	path     objects.QueuePath
	conf     configs.Queue // its Children are stale once one drains
	managed  bool          // by the configuration; else it is dynamic
	draining bool          // it was removed from the configuration and still has applications
	dynamic  *dynamicQueue // its origin, also while a configuration names it; nil: it never was dynamic
	children []*queue
	inForce  *quotas // instead of the max and the guarantee of conf; nil: those, with percents of nothing
}

// dynamicQueue says how a dynamic queue was created.
type dynamicQueue struct {
	parent   bool
	template *configs.ChildTemplate // that it was created with; nil: none
	tags     configs.QuotaTags      // of its applications
}

// node is a node; its allocations are found by searching all allocations.
type node struct {
	id          objects.NodeID
	total       resources.Amounts
	schedulable bool
	attributes  map[string]string
	refusals    []*refusal // that are active

	overcommitted bool      // as it was said last
	pressedSince  time.Time // when its grace began; zero: it is in none
}

// app is an application; its allocations are found by searching all allocations.
type app struct {
	id              objects.AppID
	leaf            objects.QueuePath
	user            security.User
	tags            map[string]string
	submitted       time.Time // of its oldest ask, if that is earlier
	state           lifecycle.State
	stateSince      time.Time         // when it entered the state
	stateEntry      uint64            // sequence number of that state change
	askedAgain      bool              // it has a new ask after it had none left, and no allocation since
	completionDue   bool              // it would complete, but for its placeholders
	allocationsMade int               // number of allocations so far
	firstAllocated  time.Time         // time of the first allocation
	peak            resources.Amounts // maximum of its allocations or of its placeholders so far
	groupPriority   *int32            // priority of its gangs by its tags; nil: none
	gang            gangs.Spec        // what it declares
	groups          []*taskGroup      // of its placeholders, by the first
	gangDeadline    time.Time         // end of the placeholder timeout; zero: none
	gangStarted     bool              // the timeout began anew with an allocated placeholder
	waits           bool              // its members wait to be placed together
	cancelled       bool              // an operator has cancelled it
	moved           bool              // an operator has moved it to its leaf
	raised          int32             // by ageing
	waitsSince      time.Time         // without an allocation; zero: it does not wait
}

// allocation is an ask or, once it has a node, an allocation.
type allocation struct {
	ask     *objects.Ask
	class   string // its priority class; empty: none
	created time.Time
	arrival uint64
	node    objects.NodeID // empty: pending

	boundAt         time.Time           // when it was bound
	preempting      bool                // marked for preemption
	overdue         bool                // overdue: not counted as released soon
	preemptingSince time.Time           // when it was preempted
	nominated       objects.NodeID      // nominated node; empty: none
	nominatedAt     time.Time           // time of the nomination
	victimLeaves    []objects.QueuePath // leaves of its victims
	reserved        objects.NodeID      // the node that it has reserved; empty: none
	reservedAt      time.Time           // when
	together        bool                // with the other members of its gang

	reported objects.WaitingState // the waiting state that was said last

	started            time.Time     // from when its bound counts, if it was reported
	runBound, runGrace time.Duration // of its enforced run time; 0: none
	runDue             time.Time     // when it is released
	ending             bool          // its release is ordered, other than by preemption
	goneAsAsked        time.Time     // when it has ended at the latest since then; zero: nothing says when
	backfilled         bool          // it uses what its node holds for reservations

	// of a placeholder:
	timedOut   bool           // because nothing replaces it
	replacedBy *allocation    // the ask that is bound when it ends; nil: none
	replacedOn objects.NodeID // the node on which that ask is bound
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

// foreign is a foreign allocation, or an orphaned one.
type foreign struct {
	objects.Foreign
	report *scheduler.ReportAllocation // of an orphaned one; else nil
}

// foreignOf returns the foreign or orphaned allocation of a key; nil: there is none.
func (t *Twin) foreignOf(key objects.AllocationKey) *foreign {
	return find(t.foreign, func(f *foreign) bool { return f.Key == key })
}

// orphans returns the orphaned allocations of an application by key: the one of key, or with an empty key all of them.
func (t *Twin) orphans(app objects.AppID, key objects.AllocationKey) []*foreign {
	of := filter(t.foreign, func(f *foreign) bool {
		return f.report != nil && f.report.Ask.App == app && (key == "" || f.Key == key)
	})
	return byName(of, func(f *foreign) objects.AllocationKey { return f.Key })
}

func (t *Twin) queue(path objects.QueuePath) *queue {
	return find(t.pathQueues(path), func(q *queue) bool { return q.path == path })
}

// pathQueues returns the existing queues from root to path.
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

// allocationsOf returns the asks and allocations of an application.
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
