package explain

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Rank is the place of an ask in selection order, level by level: which children of each queue on its path come before,
// which applications of its leaf, and which asks of its application (EXP-6). A decision takes the first of each level
// that can be placed, whatever its rank: an ask with all gates open is placed before any that has a closed one.
type Rank struct {
	Levels []Level
}

// Level is the place of one member among those that are compared with it.
type Level struct {
	Kind   LevelKind
	In     string // the queue, or the application, whose members are compared
	Member Member // on the path of the ask
	Before int    // how many members come before it
	Of     int    // how many members there are, with pending asks
	First  []Ahead
	Orders []policies.Criterion // the criteria of the level, the strongest first
}

// LevelKind says what a Level compares.
type LevelKind uint8

// The kinds of levels.
const (
	Queues       LevelKind = iota // the children of a parent queue
	Applications                  // those of a leaf
	Asks                          // those of an application
)

// Code returns the stable code of the kind.
func (k LevelKind) Code() string { return [...]string{"queues", "applications", "asks"}[k] }

// Member is a queue, application or ask with its sort key.
type Member struct {
	Name      string
	Priority  int32
	Share     float64   // the fair share of a queue, the largest share of an application; zero for asks
	Submitted time.Time // of an application: its submission; of an ask: its creation; zero for queues
}

// Ahead is a member that comes before the one on the path of the ask, and the criterion that decided.
type Ahead struct {
	Member
	By policies.Criterion
}

// maxAhead bounds the members ahead that a level lists: the first in order.
const maxAhead = 3

// RankOf returns the rank of x. Requires: as for Gates. The cost grows with the number of members that come before.
func RankOf(x *objects.Allocation) Rank {
	r, path := Rank{}, pathTo(x.Application().Queue())
	for i, parent := range path[:len(path)-1] {
		r.Levels = append(r.Levels, queueLevel(parent, path[i+1]))
	}
	r.Levels = append(r.Levels, applicationLevel(x.Application()), askLevel(x))
	return r
}

// pathTo returns the queues from root to leaf.
func pathTo(leaf *objects.Queue) (path []*objects.Queue) {
	for q := leaf; q != nil; q = q.Parent() {
		path = append([]*objects.Queue{q}, path...)
	}
	return path
}

func queueLevel(parent, child *objects.Queue) Level {
	key := child.OrderKey()
	l := Level{Kind: Queues, In: string(parent.Path()), Member: queueMember(child), Orders: queueCriteria(parent)}
	found := false
	for other := range parent.OrderedChildren() {
		l.Of++
		found = found || other == child
		if found {
			continue
		}
		l.Before++
		if len(l.First) < maxAhead {
			k := other.OrderKey()
			by, _ := policies.QueueCriterion(&k, &key, parent.PrioritySort())
			l.First = append(l.First, Ahead{queueMember(other), by})
		}
	}
	return l
}

func queueMember(q *objects.Queue) Member {
	key := q.OrderKey()
	return Member{Name: key.Path, Priority: key.Priority.Number(), Share: key.Share.Float()}
}

func queueCriteria(parent *objects.Queue) []policies.Criterion {
	if parent.PrioritySort() == policies.PriorityIgnored {
		return []policies.Criterion{policies.ByShare, policies.ByPriority, policies.ByPending, policies.ByName}
	}
	return []policies.Criterion{policies.ByPriority, policies.ByShare, policies.ByPending, policies.ByName}
}

func applicationLevel(a *objects.Application) Level {
	leaf, key := a.Queue(), a.OrderKey()
	l := Level{Kind: Applications, In: string(leaf.Path()), Member: applicationMember(a),
		Orders: applicationCriteria(leaf)}
	found := false
	for other := range leaf.OrderedApplications() {
		l.Of++
		found = found || other == a
		if found {
			continue
		}
		l.Before++
		if len(l.First) < maxAhead {
			k := other.OrderKey()
			by, _ := leaf.AppSort().AppCriterion(&k, &key, leaf.PrioritySort())
			l.First = append(l.First, Ahead{applicationMember(other), by})
		}
	}
	return l
}

func applicationMember(a *objects.Application) Member {
	key := a.OrderKey()
	m := Member{Name: key.ID, Priority: key.Priority.Number(), Submitted: a.Submitted()}
	if len(key.Shares) > 0 {
		m.Share = key.Shares[0].Float()
	}
	return m
}

func applicationCriteria(leaf *objects.Queue) []policies.Criterion {
	order := policies.BySubmission
	if leaf.AppSort() == policies.Fair {
		order = policies.ByShare
	}
	if leaf.PrioritySort() == policies.PriorityIgnored {
		return []policies.Criterion{order, policies.ByPriority, policies.ByName}
	}
	return []policies.Criterion{policies.ByPriority, order, policies.ByName}
}

func askLevel(x *objects.Allocation) Level {
	l := Level{
		Kind: Asks, In: string(x.Application().ID()), Member: askMember(x), Of: x.Application().PendingAskCount(),
		Orders: []policies.Criterion{policies.ByPriority, policies.ByCreation, policies.ByArrival},
	}
	count, first := x.AsksBefore()
	l.Before = count
	if first != nil {
		k, key := first.OrderKey(), x.OrderKey()
		by, _ := policies.AskCriterion(&k, &key)
		l.First = []Ahead{{askMember(first), by}}
	}
	return l
}

func askMember(x *objects.Allocation) Member {
	return Member{Name: string(x.Key()), Priority: x.OrderKey().Priority, Submitted: x.Created()}
}
