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
			g.Figures = append(g.Figures,
				Figure{q.part.ResourceName(resources.Index(k)), requested, free, bound, 0, missingOf(requested, free)})
		}
	}
	sortFigures(g.Figures)
	g.Permanent = c.TooSmall(s)
	q.add(g, q.resourceChanges(c, &g)...)
}

// resourceChanges returns the changes that open the gate of a constraint on resources: to free what is missing, unless
// even that would not do, or to raise the bound.
func (q *question) resourceChanges(c quota.Constraint, g *Gate) (changes []GateChange) {
	if !g.Closed {
		return nil
	}
	missing, needed := map[string]resources.Quantity{}, map[string]resources.Quantity{}
	freeable := !g.Permanent
	for _, f := range g.Figures {
		if f.Missing == 0 {
			continue
		}
		missing[f.Resource] = f.Missing
		needed[f.Resource] = resources.AddSaturated(f.Max, f.Missing)
		freeable = freeable && f.Requested <= f.Max // TooSmall says nothing about the capacity of the cluster
	}
	queue := objects.QueuePath(c.Queue().Path())
	free := GateChange{Action: FreeInQueue, Queue: queue, Amounts: resources.FromMap(missing)}
	raise := GateChange{Action: RaiseQueueMax, Queue: queue, Amounts: resources.FromMap(needed)}
	switch c.Kind() {
	case quota.LimitMaxResources:
		free.Action, raise.Action = FreeOfLimit, RaiseLimit
		free.limitOf(c)
		raise.limitOf(c)
	case quota.ClusterCapacity:
		free.Action = FreeInCluster
		raise = GateChange{Action: AddNode, Amounts: free.Amounts}
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
func (q *question) applicationChanges(c quota.Constraint) []GateChange {
	running, bound := c.Running()
	queue := objects.QueuePath(c.Queue().Path())
	end := GateChange{Action: EndApplications, Queue: queue, Count: uint64(running) - bound + 1}
	raise := GateChange{Action: RaiseQueueMaxApplications, Queue: queue, Count: uint64(running) + 1}
	if c.Kind() == quota.LimitMaxApplications {
		raise.Action = RaiseLimitMaxApplications
		end.limitOf(c)
		raise.limitOf(c)
	}
	if uint64(running) < bound {
		return nil
	}
	for _, id := range objects.RunningWithin(q.part, c) {
		end.addCandidate(string(id))
	}
	return []GateChange{end, raise}
}
