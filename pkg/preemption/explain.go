package preemption

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Inquiry says how a search for an ask by one right went.
type Inquiry struct {
	Right Right
	Plan  Plan // the one that takes the least, if Found
	Found bool

	Nodes     int       // in the partition
	Seen      Seen      // that were looked at
	Hopeless  int       // that were not, as the ask would find no room there if everybody left
	Obstacles Obstacles // of the nodes without a plan; if Across when quotas counted
	Across    bool      // no node alone was enough for a quota, so nodes were compared as if there was none
	InTheWay  []InTheWay
	Best      []Plan        // the best plans that were compared, BestPlans at most, the one that takes the least first
	First     *objects.Node // that was looked at; nil: none
}

// BestPlans is how many plans an Inquiry has at most.
const BestPlans = 10

// Obstacle is why nobody can leave a node so that an ask finds room there.
type Obstacle uint8

// The obstacles.
const (
	NobodyMayGo Obstacle = iota // the laws keep everybody on it
	TooLittle                   // those who may be taken hold too little
	Guarantees                  // guarantees keep those who would have to go
	Budgets                     // disruption budgets do
	QuotaInWay                  // a quota or a limit would be in the way all the same
	obstacles
)

func (o Obstacle) String() string {
	return [...]string{"nobody may be taken", "too little could be freed", "guarantees keep those who would have to leave",
		"disruption budgets keep those who would have to leave", "a quota is in the way"}[o]
}

// Obstacles counts nodes.
type Obstacles [obstacles]int

// InTheWay is a quota that was in the way, and on how many nodes.
type InTheWay struct {
	objects.Wall
	Nodes int
}

// Cost says what a plan takes, beside its victims.
func (p *Plan) Cost() (beyondBudgets int, opposed, leads bool) {
	return p.cost.beyond, p.cost.opposed, p.cost.leads
}

// Explain is Find that says how it came to its answer. It leaves nothing behind in s, so x may
// be one that nobody made. Where a search compares fewer nodes than there are because none
// to come can be better, so does this one.
func (s *Search) Explain(x *objects.Allocation, r Right, judge Judge) Inquiry {
	rankings, effort := s.rankings, s.effort
	s.rankings = map[want]*ranking{}
	e := explaining{s: s, q: Inquiry{Right: r, Nodes: len(s.part.Nodes())}}
	s.watch, s.hunt.kept = e.saw, map[*objects.Allocation]Law{}
	e.q.Plan, e.q.Found = s.Find(x, r, judge)
	if e.q.Seen = s.seen; e.q.Across { // those that were compared lack who runs elsewhere
		e.q.Best = nil
		if e.q.Found {
			e.q.Best = []Plan{e.q.Plan}
		}
	}
	for _, ranks := range s.rankings { // the one of x, or none
		for place := range s.roll.nodes {
			if ranks.of(place) == hopeless {
				e.q.Hopeless++
			}
		}
	}
	s.watch, s.hunt.kept, s.rankings, s.effort = nil, nil, rankings, effort
	return e.q
}

// explaining listens to a search.
type explaining struct {
	s *Search
	q Inquiry
}

func (e *explaining) saw(n *objects.Node, plan Plan, what Sight) {
	if e.q.First == nil {
		e.q.First = n
	}
	switch e.q.Across = e.s.trim.anywhere; {
	case e.q.Across: // what was in the way is known already
	case what == NoPlan:
		e.blame(&e.s.trim)
	case what == Compared:
		e.keep(plan)
	}
	clear(e.s.hunt.kept)
}

// keep adds a plan to the best ones, if it is one of them.
func (e *explaining) keep(plan Plan) {
	at, _ := slices.BinarySearchFunc(e.q.Best, &plan, func(a Plan, b *Plan) int {
		if e.s.hunt.better(&a, b) {
			return -1
		}
		return 1
	})
	if at == BestPlans {
		return
	}
	plan.Victims = slices.Clone(plan.Victims) // the next one is found in their place
	if e.q.Best = slices.Insert(e.q.Best, at, plan); len(e.q.Best) > BestPlans {
		e.q.Best = e.q.Best[:BestPlans]
	}
}

// blame finds out why t has just found no plan. When somebody was spared, there was one
// until then.
func (e *explaining) blame(t *trim) {
	o := QuotaInWay
	switch {
	case len(e.s.hunt.kept) > 0:
		o = Budgets
		for _, law := range e.s.hunt.kept {
			if law == IsGuaranteed {
				o = Guarantees
			}
		}
	case len(t.may) == 0:
		o = NobodyMayGo
	case !t.room.Covers(t.hunt.x.Shape().Vector()):
		o = TooLittle
	default:
		e.blameWalls(t)
	}
	e.q.Obstacles[o]++
}

func (e *explaining) blameWalls(t *trim) {
	if e.q.InTheWay == nil {
		for i := range t.walls {
			e.q.InTheWay = append(e.q.InTheWay, InTheWay{Wall: t.walls[i].Wall})
		}
	}
	for i := range t.walls {
		if w := &t.walls[i]; !w.gone.Covers(w.Missing) {
			e.q.InTheWay[i].Nodes++
		}
	}
}
