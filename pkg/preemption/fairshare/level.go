package fairshare

import (
	"math"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Level is a queue with its sides, at one moment.
type Level struct {
	queue     *objects.Queue
	capacity  resources.Vector // of the cluster
	contested []bool           // by resource: some side cannot have all that it could use
	sides     map[string]*Side
}

// Side is one of those that share what a queue has: a child, or an application or a user of a leaf.
type Side struct {
	Name string // of the queue, the application or the user

	level  *Level
	weight uint64           // millionths
	held   resources.Vector // without expected releases, with nominated asks
	floor  resources.Vector // what is guaranteed and can be used
	top    resources.Vector // what can be used
	share  []float64        // by resource
}

// Queue returns the queue that the sides are directly below.
func (l *Level) Queue() *objects.Queue { return l.queue }

// SideOf returns the side of an application that is in or below the queue.
func (l *Level) SideOf(a *objects.Application) *Side {
	leaf := a.Queue()
	switch {
	case leaf != l.queue:
		for leaf.Parent() != l.queue {
			leaf = leaf.Parent()
		}
		return l.sides[leaf.Name()]
	case leaf.Fairness().By == policies.FairByUser:
		return l.sides[a.User().Name]
	}
	return l.sides[string(a.ID())]
}

// Held returns what the side holds without expected releases, and with its nominated asks. Read-only.
func (s *Side) Held() resources.Vector { return s.held }

// Share returns the fair share of a resource, and whether that is contested.
func (s *Side) Share(k resources.Index) (share float64, contested bool) {
	if int(k) >= len(s.share) {
		return 0, false
	}
	return s.share[k], s.level.contested[k]
}

// Lacks reports whether a side that holds this much is below its fair share in a contested resource that v requests.
func (s *Side) Lacks(held, v resources.Vector) bool {
	for k, n := range v {
		k := resources.Index(k)
		if share, contested := s.Share(k); contested && n > 0 && float64(held.At(k)) < share {
			return true
		}
	}
	return false
}

// Loses reports whether a side that held this much is below its fair share in a contested resource when it holds as
// much as then, and further than before.
func (s *Side) Loses(held, then resources.Vector) bool {
	for k := range s.share {
		k := resources.Index(k)
		if share, contested := s.Share(k); contested && then.At(k) < held.At(k) && float64(then.At(k)) < share {
			return true
		}
	}
	return false
}

// Excess returns how far a side that holds this much is above its fair share (PRE-129): the greatest of
// (held - share) / (weight x capacity), times a constant. Minus infinity: nothing is contested.
func (s *Side) Excess(held resources.Vector) float64 {
	most := math.Inf(-1)
	for k, capacity := range s.level.capacity {
		k := resources.Index(k)
		if share, contested := s.Share(k); contested {
			// conversions keep compilers from fusing operations, which would round otherwise
			above := float64(float64(held.At(k)) - share)
			most = max(most, above/float64(float64(s.weight)*float64(capacity)))
		}
	}
	return most
}

// equalWeight is the weight of applications and users, and the default of queues.
const equalWeight = 1_000_000

// Level returns the sides of a queue, whether it shares fairly or not. It is valid until the partition changes.
func (s *Shares) Level(q *objects.Queue) *Level {
	if l := s.levels[q]; l != nil {
		return l
	}
	l := &Level{queue: q, capacity: s.part.Capacity(), sides: map[string]*Side{}}
	l.contested = make([]bool, len(l.capacity))
	if q.Leaf() {
		s.addApplications(l)
	} else {
		s.addChildren(l)
	}
	total, sides := s.total(q), make([]*Side, 0, len(l.sides))
	for _, side := range l.sides { // in any order: the level does not depend on it
		side.level, side.share = l, make([]float64, len(l.capacity))
		sides = append(sides, side)
	}
	list := make([]bounds, len(sides))
	for k := range l.capacity {
		k := resources.Index(k)
		wanted := resources.Quantity(0)
		for i, side := range sides {
			list[i] = bounds{side.weight, side.floor.At(k), side.top.At(k)}
			wanted = resources.AddSaturated(wanted, side.top.At(k))
		}
		at := waterLevel(total.At(k), list)
		l.contested[k] = wanted > total.At(k) && l.capacity[k] > 0
		for i, side := range sides {
			side.share[k] = list[i].share(at)
		}
	}
	s.levels[q] = l
	return l
}

// total returns what the sides of q share (PRE-127). A preemption among them does not change it: what one of them loses
// is left to the others.
func (s *Shares) total(q *objects.Queue) resources.Vector {
	total := slices.Clone(s.part.Capacity())
	if q.Parent() == nil {
		return total
	}
	held := q.Quota().Planned()
	for k := range total {
		k := resources.Index(k)
		left := resources.SubSaturated(total[k], s.part.Root().Quota().Planned().At(k))
		for above := q; above != nil; above = above.Parent() {
			if most, ok := above.Quota().Max().At(k); ok {
				left = min(left, resources.SubSaturated(most, above.Quota().Planned().At(k)))
			}
		}
		total[k] = resources.AddSaturated(held.At(k), max(0, left))
	}
	if parent := q.Parent(); parent.Settings().FairShare {
		for k, share := range s.Level(parent).sides[q.Name()].share {
			total[k] = max(total[k], resources.Quantity(share))
		}
	}
	return total
}

func (s *Shares) addChildren(l *Level) {
	for _, c := range l.queue.Children() {
		side := &Side{Name: c.Name(), weight: s.weights().Millionths(c), held: c.Quota().Planned()}
		side.top = withinMax(c, s.demand(c))
		guaranteed := c.Quota().Guaranteed()
		for k, top := range side.top {
			n, _ := guaranteed.At(resources.Index(k))
			side.floor = append(side.floor, min(n, top))
		}
		l.sides[side.Name] = side
	}
}

func (s *Shares) addApplications(l *Level) {
	of := func(a *objects.Application) *Side {
		name := string(a.ID())
		if l.queue.Fairness().By == policies.FairByUser {
			name = a.User().Name
		}
		if l.sides[name] == nil {
			l.sides[name] = &Side{Name: name, weight: equalWeight}
		}
		return l.sides[name]
	}
	for _, a := range s.applications(l.queue) {
		side := of(a)
		side.held.Add(a.Allocated())
		side.held.Add(a.Placeholders())
		side.top.Add(s.demandOf(a))
	}
	for x := range s.part.EachPreempting {
		if _, overdue := s.part.PreemptingSince(x); !overdue && x.Application().Queue() == l.queue {
			of(x.Application()).held.Sub(x.Shape().Vector())
		}
	}
	for _, x := range s.part.Nominees() {
		if x.Application().Queue() == l.queue {
			of(x.Application()).held.Add(x.Shape().Vector())
		}
	}
}

// withinMax returns v, and at most the effective max of q.
func withinMax(q *objects.Queue, v resources.Vector) resources.Vector {
	v = slices.Clone(v)
	for k, n := range v {
		if most, ok := q.Quota().Max().At(resources.Index(k)); ok {
			v[k] = min(n, max(0, most))
		}
	}
	return v
}
