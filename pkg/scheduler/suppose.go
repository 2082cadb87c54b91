package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ErrWouldBeRefused says that an ask would not be taken in at all.
var ErrWouldBeRefused = errors.New("the ask would be refused")

// Suppose says what would become of an ask now, and changes nothing: no book, nothing that is
// kept in mind about whose turn it is to look, and no decision afterwards. Errors:
// ErrWouldBeRefused with the reason, objects.ErrUnknown with what is not there. The RM is asked about asks that are
// pending only, as it knows no other.
func (c *Core) Suppose(h Hypothesis, now time.Time) (*Supposition, error) {
	c.part.Settle()
	s := supposing{c: c, now: now, h: h, out: &Supposition{At: now}}
	if err := s.meet(); err != nil {
		return nil, err
	}
	s.decide()
	return s.out, nil
}

// supposing is a Suppose under way.
type supposing struct {
	c     *Core
	now   time.Time
	h     Hypothesis
	x     *objects.Allocation
	first *objects.Application // that has to start before; nil: none
	named func(resources.Vector) resources.Amounts
	judge preemption.Judge
	last  preemption.Inquiry // of the right that was tried last
	out   *Supposition
}

// meet finds the ask, or imagines it.
func (s *supposing) meet() error {
	if s.h.Node != "" {
		if _, ok := s.c.part.Node(s.h.Node); !ok {
			return fmt.Errorf("%w node %s", objects.ErrUnknown, s.h.Node)
		}
	}
	if s.h.Ask == nil {
		x, ok := s.c.part.Allocation(s.h.Key)
		if !ok || !x.Pending() {
			return fmt.Errorf("%w pending ask %s", objects.ErrUnknown, s.h.Key)
		}
		s.x, s.named, s.judge, s.out.Pending = x, s.c.part.Amounts, s.c.judge, true
		if a := x.Application(); !a.MayStart() {
			s.first = a.Queue().Newcomer()
		}
	} else {
		x, err := s.c.part.Imagine(s.h.Class, s.h.Ask, s.h.Who, s.now)
		if err = errors.Join(s.c.mayName(s.h.Named), wellFormed(s.h.Ask), err); err != nil {
			return fmt.Errorf("%w: %w", ErrWouldBeRefused, err)
		}
		s.x, s.named, s.first = x.Allocation, x.Amounts, x.First
		if u := s.x.Application().User(); s.h.Users != nil && !s.h.Users.Allows(u) {
			return fmt.Errorf("%w: %w", ErrWouldBeRefused, needsPermission(s.h.Class, u))
		}
	}
	s.out.Ask = claimantOf(s.x)
	v := &s.out.Verdict
	v.App, v.User, v.Obstacle = s.x.Application().ID(), s.x.Application().User(), WaitsForTurn
	return nil
}

// decide goes the way of look, and notes what it meets.
func (s *supposing) decide() {
	c, x, out := s.c, s.x, s.out
	defer s.explainNode()
	s.claim()
	switch o, where := s.startObstacle(); {
	case c.part.Nomination(x) != nil:
		out.Outcome, out.Node = WouldWait, c.part.Nomination(x).ID()
		out.Verdict.Obstacle, out.Verdict.Where = WaitsForVictims, string(out.Node)
		return
	case o != NotPending:
		out.Outcome, out.Verdict.Obstacle, out.Verdict.Where = WouldNotStart, o, where
		return
	}
	walls := c.part.Walls(x)
	n := s.willing()
	s.obstacle(n)
	if len(walls) == 0 && n != nil {
		out.Outcome, out.Node = WouldFit, n.ID()
		if out.Verdict.Obstacle != WaitsForTurn { // a quota, until those have left who were told to
			out.Outcome = WouldWait
		}
		return
	}
	out.Outcome = WouldNotFit
	rights, _ := preemption.Rights(c.part, x, s.then())
	for _, r := range rights {
		if s.try(r) {
			return
		}
	}
}

// then is when rights are asked about.
func (s *supposing) then() time.Time {
	conf := s.x.Application().Queue().Settings()
	if at := s.x.Created().Add(max(conf.PreemptionDelay, conf.PriorityDelay)); s.h.Waited && at.After(s.now) {
		return at
	}
	return s.now
}

func (s *supposing) claim() {
	for _, claim := range preemption.Entitlements(s.c.part, s.x, s.then()) {
		v := SupposedClaim{Right: claim.Right, Bar: claim.Bar, Due: claim.Due}
		if claim.Queue != nil {
			v.Queue = claim.Queue.Path()
		}
		s.out.Claims = append(s.out.Claims, v)
	}
}

// startObstacle is that of the Core, for an application whose ask may be made up.
func (s *supposing) startObstacle() (o Obstacle, where string) {
	if s.first != nil {
		return WaitsToStart, string(s.first.ID())
	}
	return s.c.barrier(s.x.Application())
}

// willing is the first node that takes the ask now; nil: none does.
func (s *supposing) willing() *objects.Node {
	for n := range s.c.part.NodesTaking(s.x) {
		if s.judge == nil || s.c.oracle == nil || s.c.oracle.Fits(s.x.Key(), n.ID()) {
			return n
		}
	}
	return nil
}

// obstacle notes what keeps the ask from being placed on n now, where nil is no node.
func (s *supposing) obstacle(n *objects.Node) {
	v := &s.out.Verdict
	taken := n != nil || s.taken()
	if v.Obstacle, v.Where = s.c.lastingObstacle(s.x, taken); v.Obstacle != NotPending {
		return
	}
	if v.Obstacle, v.Where = s.c.quotaObstacle(s.x); v.Obstacle != NotPending {
		return
	}
	v.Obstacle, v.Where = WaitsForTurn, ""
	switch {
	case n != nil:
	case taken:
		v.Obstacle = NodesRefuse
	default:
		v.Obstacle, v.Where = NoNodeFits, string(s.x.Ask().RequiredNode)
	}
}

// taken reports whether some node has room for the ask, whatever the RM says.
func (s *supposing) taken() bool {
	for range s.c.part.NodesTaking(s.x) {
		return true
	}
	return false
}

// try looks for victims by one right, and reports whether there is a plan.
func (s *supposing) try(r preemption.Right) bool {
	s.last = s.c.search().Explain(s.x, r, s.judge)
	s.out.Tried = append(s.out.Tried, s.viewSearch(&s.last))
	if !s.last.Found {
		return false
	}
	plan := &s.last.Plan
	s.out.Outcome, s.out.Node = WouldPreempt, plan.Node.ID()
	if s.out.Victims, s.out.MoreVictims = victimsNamed(plan.Victims, s.now); len(plan.Victims) == 0 {
		s.out.Outcome = WouldWait
	}
	return true
}

// explainNode says what becomes of everybody on the node that was asked for, or else on that
// of the plan, or else on the first that was looked at.
func (s *supposing) explainNode() {
	plan := preemption.Plan{Ask: s.x, Right: s.last.Right, Node: s.last.First}
	if rights, _ := preemption.Rights(s.c.part, s.x, s.then()); len(rights) == 0 {
		return // no right, so no law
	} else if len(s.out.Tried) == 0 {
		plan.Right = rights[0]
	}
	if s.last.Found {
		plan = s.last.Plan
	}
	if n, ok := s.c.part.Node(s.h.Node); ok && n != plan.Node {
		plan = preemption.Plan{Ask: s.x, Right: plan.Right, Node: n}
	}
	if plan.Node == nil {
		return
	}
	s.out.CandidatesNode, s.out.CandidatesRight = plan.Node.ID(), plan.Right
	s.out.Candidates, s.out.MoreCandidates = candidatesOf(s.c.search().Candidates(plan))
}

func (s *supposing) viewSearch(q *preemption.Inquiry) SupposedSearch {
	v := SupposedSearch{
		Right: q.Right, Found: q.Found, Nodes: q.Nodes, Seen: q.Seen, Hopeless: q.Hopeless, Obstacles: q.Obstacles, Across: q.Across,
	}
	for i := range q.InTheWay {
		w := &q.InTheWay[i]
		if w.Nodes == 0 {
			continue // those who may be taken anywhere are enough for it
		}
		wall := SupposedWall{Nodes: w.Nodes, Missing: positive(s.named(w.Missing))}
		wall.Verdict.Obstacle, wall.Verdict.Where = wallObstacle(&w.Wall)
		v.InTheWay = append(v.InTheWay, wall)
	}
	for i := range q.Best {
		p := SupposedPlan{Node: q.Best[i].Node.ID()}
		p.Victims, p.MoreVictims = victimsNamed(q.Best[i].Victims, s.now)
		p.BeyondBudgets, p.Opposed, p.Leads = q.Best[i].Cost()
		v.Best = append(v.Best, p)
	}
	return v
}
