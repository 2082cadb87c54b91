package objects

// Changes is what has changed in a partition since it was last taken, for keeping views of its
// objects up to date (ADR 32). An object is listed once, however often it changes; what has
// gone is listed too. Everything that is there when watching begins is listed as well, without
// a list being made: a large partition is gone through bit by bit.
type Changes struct {
	p        *Partition
	work     []*Allocation
	listed   map[*Allocation]struct{} // those in work
	accounts []*account
	apps     []*Application
	nodes    []*Node
	queues   []*Queue

	// What was there from the beginning and has not been listed yet: the first so many of the
	// lists of the partition, and of the work of an application. What leaves such a list is
	// replaced by its last member, so who goes through it backwards misses nothing.
	oldApps, oldNodes, oldQueues int
	oldApp                       *Application
	oldWork                      int
}

// A LimitChange says what has become of what a user or a group may use, and uses, in a queue.
type LimitChange struct {
	Queue *Queue
	Holder
	Now *Limited // nil: it is limited no more, or has no application there
}

// Watch begins to record changes, anew if that is done already. Whatever is in the partition
// counts as changed. Recording ends with Unwatch, or by itself (see Watched) when what the
// changes are like is not known any more or so many have changed that going through everything
// takes no longer.
func (p *Partition) Watch() *Changes {
	p.Unwatch()
	p.watch = &Changes{
		p: p, listed: map[*Allocation]struct{}{},
		oldApps: len(p.appList.all), oldNodes: len(p.nodeList.all), oldQueues: len(p.queueList.all),
	}
	return p.watch
}

// Unwatch ends recording. Changes that were not taken are forgotten.
func (p *Partition) Unwatch() {
	c := p.watch
	if p.watch = nil; c == nil {
		return
	}
	for _, x := range c.accounts {
		x.listed = false
	}
	for _, a := range c.apps {
		a.listed = false
	}
	for _, n := range c.nodes {
		n.listed = false
	}
	for _, q := range c.queues {
		q.listed = false
	}
}

// Watched reports whether c still records.
func (p *Partition) Watched(c *Changes) bool { return c != nil && p.watch == c }

// Len is how many objects there are to take, at least.
func (c *Changes) Len() int {
	n := len(c.work) + len(c.accounts) + len(c.apps) + len(c.nodes) + len(c.queues) + c.oldApps + c.oldNodes + c.oldQueues + c.oldWork
	if c.oldApps > 0 {
		n += len(c.p.work)
	}
	return n
}

// Next takes something that has changed: an *Allocation, a LimitChange, an *Application, a *Node
// or a *Queue; nil: there is nothing. Work comes before all else: when an application or a node
// is taken, all that has changed of its work has been.
func (c *Changes) Next() any {
	if x := c.nextWork(); x != nil {
		return x
	}
	for ; c.oldNodes > 0; c.oldNodes-- {
		if c.oldNodes <= len(c.p.nodeList.all) {
			c.node(c.p.nodeList.all[c.oldNodes-1])
		}
	}
	for ; c.oldQueues > 0; c.oldQueues-- {
		if c.oldQueues <= len(c.p.queueList.all) {
			c.queue(c.p.queueList.all[c.oldQueues-1])
		}
	}
	if x, ok := pop(&c.accounts); ok {
		x.listed = false
		change := LimitChange{Queue: x.queue, Holder: x.holder}
		if now := x.queue.accounts[x.holder]; now != nil { // perhaps another one than x
			change.Now = c.p.limited(now)
		}
		return change
	}
	if a, ok := pop(&c.apps); ok {
		a.listed = false
		return a
	}
	if n, ok := pop(&c.nodes); ok {
		n.listed = false
		return n
	}
	if q, ok := pop(&c.queues); ok {
		q.listed = false
		return q
	}
	return nil
}

// nextWork takes work that has changed, or has been there from the beginning. nil: there is none.
func (c *Changes) nextWork() any {
	if x, ok := pop(&c.work); ok {
		delete(c.listed, x)
		return x
	}
	for {
		if c.oldApp != nil {
			if c.oldWork = min(c.oldWork, len(c.oldApp.work)); c.oldWork > 0 {
				c.oldWork--
				return c.oldApp.work[c.oldWork]
			}
			c.oldApp = nil
		}
		if c.oldApps = min(c.oldApps, len(c.p.appList.all)); c.oldApps == 0 {
			return nil
		}
		c.oldApps--
		c.oldApp = c.p.appList.all[c.oldApps]
		c.oldWork = len(c.oldApp.work)
		c.app(c.oldApp)
		for _, s := range c.oldApp.seats {
			c.account(s.account)
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

func (c *Changes) app(a *Application) {
	if !a.listed {
		a.listed = true
		c.apps = append(c.apps, a)
	}
}

func (c *Changes) node(n *Node) {
	if !n.listed {
		n.listed = true
		c.nodes = append(c.nodes, n)
	}
}

func (c *Changes) queue(q *Queue) {
	if !q.listed {
		q.listed = true
		c.queues = append(c.queues, q)
	}
}

func (c *Changes) account(x *account) {
	if !x.listed {
		x.listed = true
		c.accounts = append(c.accounts, x)
	}
}

// The rest is what the partition calls after a change. Without a watch it costs a comparison.

// changedWork notes that x came, changed or went. Its application, its leaf and its node have
// changed with it.
func (p *Partition) changedWork(x *Allocation) {
	c := p.watch
	if c == nil {
		return
	}
	if _, listed := c.listed[x]; !listed {
		if len(c.work) > 2*len(p.work)+mostUntaken {
			p.Unwatch() // nobody has taken them for long, and most have gone
			return
		}
		c.listed[x] = struct{}{}
		c.work = append(c.work, x)
	}
	c.app(x.app)
	c.queue(x.app.queue)
	if x.node != nil {
		c.node(x.node)
	}
}

// mostUntaken is how many changes of work are kept at least for whom they are recorded.
const mostUntaken = 10_000

// changedApp notes that a came, changed or went.
func (p *Partition) changedApp(a *Application) {
	if p.watch != nil {
		p.watch.app(a)
		p.watch.queue(a.queue)
	}
}

// changedNode notes that n came, changed or went.
func (p *Partition) changedNode(n *Node) {
	if p.watch != nil {
		p.watch.node(n)
	}
}

// changedQueue notes that q came, changed or went.
func (p *Partition) changedQueue(q *Queue) {
	if p.watch != nil {
		p.watch.queue(q)
	}
}

// changedAccount notes that x came, changed or went.
func (p *Partition) changedAccount(x *account) {
	if p.watch != nil {
		p.watch.account(x)
	}
}
