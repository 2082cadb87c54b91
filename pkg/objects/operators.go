package objects

// What operators switch: applications on hold, stopped and drained queues. Asks of the first two stay pending and are
// in no mask, so decisions pass them by; allocations stay. Whether an application or queue is known, and what is kept
// over restarts, is left to package scheduler.

// OnHold reports whether an operator holds a (OPS-1).
func (a *Application) OnHold() bool { return a.onHold }

// SetOnHold holds a, or lets it be allocated again (OPS-1).
func SetOnHold(p *Partition, a *Application, held bool) {
	if a.onHold == held {
		return
	}
	a.onHold = held
	holdChanged(p, a)
}

// Stopped reports whether an operator has stopped q or a queue above (OPS-2).
func (q *Queue) Stopped() bool { return q.policy.stopped }

// Recovery reports whether q is the recovery queue: an operator has to move the applications that have asks there
// (PLC-34).
func (q *Queue) Recovery() bool { return q.policy.recovery }

// SetStopped applies to q and the queues below which queues operators have stopped (OPS-2). The cost grows with the
// number of these queues, and of the applications of the leaves for which something changes.
func SetStopped(p *Partition, q *Queue, isStopped func(QueuePath) bool) {
	stopped := isStopped(q.path) || q.parent != nil && q.parent.policy.stopped
	changed := q.policy.stopped != stopped
	q.policy.stopped = stopped
	if changed {
		p.journal.post(Change{Kind: QueueChanged, Queue: q})
		for _, a := range q.Applications() {
			holdChanged(p, a)
		}
	}
	for _, child := range q.Children() {
		SetStopped(p, child, isStopped)
	}
}

// DrainedByOperator reports whether an operator drains q or a queue above: it accepts no new application (OPS-8).
func (q *Queue) DrainedByOperator() bool { return q.drained }

// SetDrained applies to q and the queues below which queues operators drain (OPS-8).
func SetDrained(p *Partition, q *Queue, isDrained func(QueuePath) bool) {
	drained := isDrained(q.path) || q.parent != nil && q.parent.drained
	if q.drained != drained {
		q.drained = drained
		p.journal.post(Change{Kind: QueueChanged, Queue: q})
	}
	for _, child := range q.Children() {
		SetDrained(p, child, isDrained)
	}
}

// Cordoned reports whether an operator has cordoned n, whatever the RM says of it (OPS-3).
func (n *Node) Cordoned() bool { return n.cordoned }

// SetCordoned cordons n, or ends that. Whether n is schedulable then is for the caller to set.
func SetCordoned(p *Partition, n *Node, cordoned bool) {
	if n.cordoned != cordoned {
		n.cordoned = cordoned
		p.journal.post(Change{Kind: NodeUsageChanged, Node: n}) // whether it is schedulable need not have changed
	}
}

// holdChanged posts that a is held now, or no longer.
func holdChanged(p *Partition, a *Application) {
	p.reindex(a)
	p.journal.post(Change{Kind: MayBeAllocatedChanged, App: a})
}

// Draining reports whether an operator drains n (OPS-10).
func (n *Node) Draining() bool { return n.draining }

// SetDraining has n drained, or no longer. Requires: n is cordoned, if draining.
func SetDraining(p *Partition, n *Node, draining bool) {
	if n.draining != draining {
		n.draining = draining
		p.journal.post(Change{Kind: NodeUsageChanged, Node: n})
	}
}

// LeftToDrain returns how many allocations on n a drain ends, preempting ones included. Those that require n stay: they
// would come back to it.
func (n *Node) LeftToDrain() (left int) {
	for x := range n.EachAllocation {
		left += boolToInt(x.ask.RequiredNode() == "")
	}
	return left
}
