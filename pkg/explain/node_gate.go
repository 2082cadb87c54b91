package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// nodeSurvey is the result of one pass over the nodes for an ask.
type nodeSurvey struct {
	fits        bool // a node admits the ask and has enough free
	allowed     bool // such a node, and other allocations allow it
	large       bool // a node that admits it would have enough if everything on it had ended
	schedulable bool // a node is schedulable

	leastMissing nodeChoice // would have enough if allocations on it ended
	cordoned     nodeChoice // would have enough if it were schedulable
	tainted      nodeChoice // would have enough if it had fewer taints

	refusing     int       // nodes that have enough, and have refused the ask before
	refusedUntil time.Time // when the first of them may get it
}

// nodeChoice is the best node of a kind: the one with the lowest share; ties are broken by ID.
type nodeChoice struct {
	node  *objects.Node // nil: there is none
	share float64
}

func (c *nodeChoice) offer(n *objects.Node, share float64) {
	if c.node == nil || cmp.Or(cmp.Compare(share, c.share), strings.Compare(string(n.ID()), string(c.node.ID()))) < 0 {
		c.node, c.share = n, share
	}
}

// nodeGates adds the gates of the nodes, of other allocations on them, of the gang and of predicates.
func (q *question) nodeGates() {
	x, s := q.ask, q.survey()
	reserved := q.part.Reservations().Of(x)
	g := Gate{Kind: Nodes, Subject: string(x.Ask().RequiredNode()), Closed: !s.fits}
	if reserved != nil {
		g.Subject = string(reserved.ID())
		g.Closed = !s.fits && !q.enoughFree(reserved) // what is held there for the ask is free for it
	}
	g.Permanent = g.Closed && !s.large && (s.schedulable || x.Ask().RequiredNode() != "")
	var changes []GateChange
	if g.Closed {
		if n := s.leastMissing.node; n != nil {
			g.Node, g.Figures, g.HeldFor = n.ID(), q.figuresOn(n), q.part.Reservations().HeldFor(n, x)
		}
		changes = q.nodeChanges(&s)
	}
	if g.Closed && s.refusing > 0 {
		g.Refusing, g.Until = s.refusing, objects.TimestampOf(s.refusedUntil)
	}
	q.add(g, changes...)
	if q.facts.Allows != nil {
		q.add(Gate{Kind: OtherAllocations, Closed: s.fits && !s.allowed})
	}
	if group := x.AskGroup(); group.WaitsForMembers() {
		q.add(Gate{Kind: Gang, Subject: q.facts.GangRefusal, Closed: q.facts.GangRefusal != ""})
	}
	if q.facts.Predicates {
		refused := s.allowed && q.part.Unschedulable(x)
		g := Gate{Kind: Predicates, Closed: refused}
		if refused {
			g.Until = objects.TimestampOf(q.facts.RetryAt)
		}
		q.add(g)
	}
}

// survey examines every node.
func (q *question) survey() (s nodeSurvey) {
	x, shape := q.ask, q.ask.Shape()
	required, v := x.Ask().RequiredNode(), shape.Vector()
	reserved := q.part.Reservations().Of(x)
	for n := range q.part.EachNode {
		if required != "" && n.ID() != required {
			continue
		}
		s.schedulable = s.schedulable || n.Schedulable()
		allowed := q.facts.Allows == nil || q.facts.Allows(n)
		if n.RefusesOnly(shape) {
			s.addRefusing(n, q)
			continue
		}
		if !n.Accepts(shape) {
			if !q.enoughFree(n) || !allowed {
				continue
			}
			switch {
			case shape.RefusedBy(n.Constraints()):
			case shape.Admits(n.Constraints()):
				s.cordoned.offer(n, 0)
			case n.Schedulable() && shape.Constraints().Selects(n.Constraints()):
				s.tainted.offer(n, float64(len(shape.Constraints().Untolerated(n.Constraints()))))
			}
			continue
		}
		if allowed {
			q.offerLargest(n)
		}
		s.large = s.large || n.Total().Covers(v)
		if n.Fits(shape) {
			s.fits, s.allowed = true, s.allowed || allowed
			continue
		}
		if allowed && (reserved == nil || reserved == n) && n.Total().Covers(v) && n.Allocated().Covers(q.missingOn(n)) {
			s.leastMissing.offer(n, q.missingShare(n))
		}
	}
	return s
}

// addRefusing counts a node that would accept the ask if it had not refused it.
func (s *nodeSurvey) addRefusing(n *objects.Node, q *question) {
	s.large = s.large || n.Total().Covers(q.ask.Shape().Vector())
	if !q.enoughFree(n) || q.facts.RefusedUntil == nil {
		return
	}
	until := q.facts.RefusedUntil(n)
	s.refusing++
	if s.refusing == 1 || until.Before(s.refusedUntil) {
		s.refusedUntil = until
	}
}

// enoughFree reports whether n has as much free as the ask requests, whether or not it accepts it.
func (q *question) enoughFree(n *objects.Node) bool {
	for k, requested := range q.ask.Shape().Vector() {
		if requested > 0 && q.part.Reservations().FreeFor(q.ask, n, resources.Index(k)) < requested {
			return false
		}
	}
	return true
}

// missingOn returns what must become free on n before the ask fits there. The vector is valid until the next call.
func (q *question) missingOn(n *objects.Node) resources.Vector {
	v := q.ask.Shape().Vector()
	missing := append(q.missing[:0], v...)
	q.missing = missing
	for k, requested := range v {
		if requested > 0 {
			missing[k] = missingOf(requested, q.part.Reservations().FreeFor(q.ask, n, resources.Index(k)))
		}
	}
	return missing
}

// missingShare returns the largest part of its capacity that must become free on n.
func (q *question) missingShare(n *objects.Node) (share float64) {
	for k, missing := range q.missingOn(n) {
		if missing > 0 {
			share = max(share, float64(missing)/float64(n.Total().At(resources.Index(k))))
		}
	}
	return share
}

// figuresOn returns the figures of a node.
func (q *question) figuresOn(n *objects.Node) (figures []Figure) {
	for k, requested := range q.ask.Shape().Vector() {
		if k := resources.Index(k); requested > 0 {
			free := q.part.Reservations().FreeFor(q.ask, n, k)
			figures = append(figures, Figure{q.part.ResourceName(k), requested, max(0, free), n.Total().At(k),
				resources.SubSaturated(n.Available().At(k), free), missingOf(requested, free)})
		}
	}
	sortFigures(figures)
	return figures
}

// nodeChanges returns the changes with which a node would have enough for the ask, and admit it.
func (q *question) nodeChanges(s *nodeSurvey) (changes []GateChange) {
	x := q.ask
	if n := s.leastMissing.node; n != nil {
		if missing := q.part.Amounts(q.missingOn(n)); !missing.IsZero() {
			changes = append(changes, GateChange{Action: FreeOnNode, Node: n.ID(), Amounts: missing})
		}
	}
	if n := s.cordoned.node; n != nil {
		changes = append(changes, GateChange{Action: Uncordon, Node: n.ID()})
	}
	if n := s.tainted.node; n != nil {
		changes = append(changes, q.removeTaints(n))
	}
	requested := x.Ask().Amounts
	id := x.Ask().RequiredNode()
	switch {
	case id == "" && q.facts.Draining:
		return changes
	case id == "":
		return append(changes, GateChange{Action: AddNode, Amounts: requested, Subject: q.requiredOfNodes()})
	}
	n, known := q.part.Node(id)
	switch {
	case !known && !q.facts.Draining:
		changes = append(changes,
			GateChange{Action: RegisterNode, Node: id, Amounts: requested, Subject: q.requiredOfNodes()})
	case known && n.Accepts(x.Shape()):
		grown := map[string]resources.Quantity{}
		for k, missing := range q.missingOn(n) {
			if k := resources.Index(k); missing > 0 {
				grown[q.part.ResourceName(k)] = resources.AddSaturated(n.Total().At(k), missing)
			}
		}
		changes = append(changes, GateChange{Action: GrowNode, Node: id, Amounts: resources.FromMap(grown)})
	}
	return changes
}

// requiredOfNodes says what a new node must have besides resources; empty: nothing.
func (q *question) requiredOfNodes() string {
	if c := q.ask.Shape().Constraints(); c.Parsed() == nil && c.Domain() == nil {
		return ""
	}
	return "its node selector, node affinity and tolerations admit"
}

func (q *question) removeTaints(n *objects.Node) GateChange {
	c := GateChange{Action: RemoveTaints, Node: n.ID()}
	for _, t := range q.ask.Shape().Constraints().Untolerated(n.Constraints()) {
		c.Candidates = append(c.Candidates, t.String()) // all of them: each keeps the ask away
	}
	return c
}

func sortFigures(figures []Figure) {
	slices.SortFunc(figures, func(a, b Figure) int { return strings.Compare(a.Resource, b.Resource) })
}
