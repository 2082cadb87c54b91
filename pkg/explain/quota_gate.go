package explain

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// quotaGate adds the gate of a constraint of the application.
func (q *question) quotaGate(c quota.Constraint) {
	s := q.ask.Shape()
	g := Gate{Kind: kinds[c.Kind()], Subject: c.String(), Closed: c.Blocks(s)}
	if c.Kind() == quota.QueueMaxResources || c.Kind() == quota.QueueMaxApplications {
		g.Subject = string(c.Queue().Path())
	}
	if c.Kind().AboutApplications() {
		g.Running, g.MaxRunning = c.Running()
		q.add(g, q.applicationChanges(c)...)
		return
	}
	for k, requested := range s.Vector() {
		if free, bound, ok := c.Availability(resources.Index(k)); ok && requested > 0 {
			g.Figures = append(g.Figures, Figure{q.part.ResourceName(resources.Index(k)), requested, free, bound, 0})
		}
	}
	sortFigures(g.Figures)
	g.Permanent = c.TooSmall(s)
	q.add(g, q.resourceChanges(c, &g)...)
}

// resourceChanges returns the changes that open the gate of a constraint on resources: to free what is missing, unless
// even that would not do, or to raise the bound.
func (q *question) resourceChanges(c quota.Constraint, g *Gate) (changes []Change) {
	if !g.Closed {
		return nil
	}
	missing, needed := map[string]resources.Quantity{}, map[string]resources.Quantity{}
	freeable := !g.Permanent
	for _, f := range g.Figures {
		if f.Missing() <= 0 {
			continue
		}
		missing[f.Resource] = f.Missing()
		needed[f.Resource] = resources.AddSaturated(f.Max, f.Missing())
		freeable = freeable && f.Requested <= f.Max // TooSmall says nothing about the capacity of the cluster
	}
	free := Change{Action: FreeInQueue, Queue: objects.QueuePath(c.Queue().Path()), Amounts: resources.FromMap(missing)}
	raise := Change{Action: RaiseQueueMax, Queue: free.Queue, Amounts: resources.FromMap(needed)}
	switch c.Kind() {
	case quota.LimitMaxResources:
		h := c.Account().UserOrGroup()
		free.Action, free.UserOrGroup, raise.Action, raise.UserOrGroup = FreeOfLimit, h, RaiseLimit, h
	case quota.ClusterCapacity:
		free.Action = FreeInCluster
		raise = Change{Action: AddNode, Amounts: free.Amounts}
	}
	if freeable {
		changes = append(changes, free)
	}
	if raise.Action == AddNode && q.facts.Draining {
		return changes
	}
	return append(changes, raise)
}

// applicationChanges returns the changes that open the gate of a constraint on applications: to end the surplus of
// applications, or to raise the bound.
func (q *question) applicationChanges(c quota.Constraint) []Change {
	running, bound := c.Running()
	end := Change{Action: EndApplications, Queue: objects.QueuePath(c.Queue().Path()), Count: uint64(running) - bound + 1}
	raise := Change{Action: RaiseQueueMaxApplications, Queue: end.Queue, Count: uint64(running) + 1}
	if c.Kind() == quota.LimitMaxApplications {
		h := c.Account().UserOrGroup()
		end.UserOrGroup, raise.UserOrGroup, raise.Action = h, h, RaiseLimitMaxApplications
	}
	if uint64(running) < bound {
		return nil
	}
	for _, id := range objects.RunningWithin(q.part, c) {
		end.addCandidate(string(id))
	}
	return []Change{end, raise}
}
