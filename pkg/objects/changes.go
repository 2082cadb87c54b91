package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// Changes lists what changed in a partition since it was last taken, to update views of its objects
// (ADR 32). An object is listed once, however often it changes, and also if it was removed. All
// objects that exist when watching begins are listed too, without a list being made: a large
// partition is listed step by step.
type Changes struct {
	p           *Partition
	allocations []*Allocation
	recorded    map[*Allocation]struct{} // those in allocations
	accounts    []*quota.Account
	apps        []*Application
	nodes       []*Node
	queues      []*Queue

	// Objects that existed from the beginning and are not listed yet: the first so many of the
	// lists of the partition, and of the allocations of an application. Removal from such a list
	// moves its last member to the gap, so iteration from the end misses nothing.
	initialApps, initialNodes, initialQueues int
	initialApp                               *Application
	initialAllocations                       int
}

// LimitChange is the new usage of a user or a group in a queue.
type LimitChange struct {
	Queue *Queue
	quota.UserOrGroup
	Usage *quota.LimitUsage // nil: it has no limit, or no application there, any more
}

// Watch begins to record changes, anew if it did already; all objects count as changed. Recording
// ends with Unwatch, or by itself (see Watched) when it is unknown what changed, or when so much
// changed that listing everything costs no more.
func (p *Partition) Watch() *Changes {
	p.Unwatch()
	p.journal.snapshots.watch = &Changes{
		p: p, recorded: map[*Allocation]struct{}{},
		initialApps: len(p.lists.apps.all), initialNodes: len(p.lists.nodes.all), initialQueues: len(p.lists.queues.all),
	}
	return p.journal.snapshots.watch
}

// Unwatch ends recording. Changes that were not taken are dropped.
func (p *Partition) Unwatch() { p.journal.snapshots.unwatch() }

func (s *snapshotChanges) unwatch() {
	c := s.watch
	s.watch = nil
	if c == nil {
		return
	}
	for _, x := range c.accounts {
		x.Recorded = false
	}
	for _, a := range c.apps {
		a.changeRecorded = false
	}
	for _, n := range c.nodes {
		n.changeRecorded = false
	}
	for _, q := range c.queues {
		q.changeRecorded = false
	}
}

// Watched reports whether c still records.
func (p *Partition) Watched(c *Changes) bool { return c != nil && p.journal.snapshots.watch == c }

// Len returns how many objects there are to take, at least.
func (c *Changes) Len() int {
	n := len(c.allocations) + len(c.accounts) + len(c.apps) + len(c.nodes) + len(c.queues) + c.initialApps +
		c.initialNodes + c.initialQueues + c.initialAllocations
	if c.initialApps > 0 {
		n += len(c.p.allocations)
	}
	return n
}

// Next takes an object that changed: an *Allocation, a LimitChange, an *Application, a *Node or a
// *Queue; nil: there is none. Allocations come first: when an application or a node is taken, all
// changes of its allocations have been.
func (c *Changes) Next() any {
	if x := c.nextAllocation(); x != nil {
		return x
	}
	for ; c.initialNodes > 0; c.initialNodes-- {
		if c.initialNodes <= len(c.p.lists.nodes.all) {
			c.addNode(c.p.lists.nodes.all[c.initialNodes-1])
		}
	}
	for ; c.initialQueues > 0; c.initialQueues-- {
		if c.initialQueues <= len(c.p.lists.queues.all) {
			c.addQueue(c.p.lists.queues.all[c.initialQueues-1])
		}
	}
	for x, ok := pop(&c.accounts); ok; x, ok = pop(&c.accounts) {
		x.Recorded = false
		q := c.p.queueOf(x.Queue())
		if q == nil {
			continue // the queue was removed, which is a change of the queue
		}
		change := LimitChange{Queue: q, UserOrGroup: x.UserOrGroup()}
		if now := x.Current(); now != nil { // may be another account than x
			change.Usage = now.Usage(c.p)
		}
		return change
	}
	if a, ok := pop(&c.apps); ok {
		a.changeRecorded = false
		return a
	}
	if n, ok := pop(&c.nodes); ok {
		n.changeRecorded = false
		return n
	}
	if q, ok := pop(&c.queues); ok {
		q.changeRecorded = false
		return q
	}
	return nil
}

// nextAllocation takes an ask or allocation that changed, or that existed from the beginning; nil:
// none.
func (c *Changes) nextAllocation() any {
	if x, ok := pop(&c.allocations); ok {
		delete(c.recorded, x)
		return x
	}
	for {
		if c.initialApp != nil {
			c.initialAllocations = min(c.initialAllocations, len(c.initialApp.allocations))
			if c.initialAllocations > 0 {
				c.initialAllocations--
				return c.initialApp.allocations[c.initialAllocations]
			}
			c.initialApp = nil
		}
		c.initialApps = min(c.initialApps, len(c.p.lists.apps.all))
		if c.initialApps == 0 {
			return nil
		}
		c.initialApps--
		c.initialApp = c.p.lists.apps.all[c.initialApps]
		c.initialAllocations = len(c.initialApp.allocations)
		c.addApp(c.initialApp)
		for _, m := range c.initialApp.quota.Memberships() {
			c.addAccount(m.Account())
		}
	}
}

func pop[T any](list *[]T) (x T, ok bool) {
	end := len(*list) - 1
	if end < 0 {
		return x, false
	}
	var none T
	x, (*list)[end] = (*list)[end], none
	*list = (*list)[:end]
	return x, true
}

func (c *Changes) addApp(a *Application) {
	if !a.changeRecorded {
		a.changeRecorded = true
		c.apps = append(c.apps, a)
	}
}

func (c *Changes) addNode(n *Node) {
	if !n.changeRecorded {
		n.changeRecorded = true
		c.nodes = append(c.nodes, n)
	}
}

func (c *Changes) addQueue(q *Queue) {
	if !q.changeRecorded {
		q.changeRecorded = true
		c.queues = append(c.queues, q)
	}
}

func (c *Changes) addAccount(x *quota.Account) {
	if !x.Recorded {
		x.Recorded = true
		c.accounts = append(c.accounts, x)
	}
}
