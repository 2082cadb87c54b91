package objects

// Masks say who can be placed where, but not what the RM refuses. An ask that it refused on
// every node with room is set aside. Placing something else only takes room away, so it
// stays impossible until there is news: room that appeared in a node or below a max.

// MarkUnschedulable keeps x, which the RM refused on every node with room, from being tried again
// until there is news.
func (p *Partition) MarkUnschedulable(x *Allocation) {
	group := x.group
	group.remove(x)
	group.unschedulable.add(x, indexInUnschedulable)
	p.park(group)
}

// Unschedulable reports whether x was set aside, and there has been no news since.
func (p *Partition) Unschedulable(x *Allocation) bool {
	return !p.requeueRequested && x.group.unschedulable.has(x, indexInUnschedulable)
}

// RequestRequeue makes everything that was set aside worth another try.
func (p *Partition) RequestRequeue() { p.requeueRequested = true }

func (p *Partition) park(group *AskGroup) {
	p.parked = append(p.parked, group)
	group.app.askGroups.reindex(group)
	group.app.reindex()
}

// requeue takes back what was set aside, if there has been news.
func (p *Partition) requeue() {
	if !p.requeueRequested {
		return
	}
	p.requeueRequested = false
	resting := p.parked
	p.parked = nil
	for _, group := range resting {
		if group.requeue(); !group.empty() {
			group.app.reindex()
		}
	}
}

// requeue makes all of c worth another try.
func (g *AskGroup) requeue() {
	asks := g.unschedulable
	g.unschedulable = nil
	for _, x := range asks {
		g.insert(x)
	}
	g.app.askGroups.reindex(g)
}
