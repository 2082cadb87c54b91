package explain

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Rank is one level of the selection order, with the place of the ask in it: of one member among those that are
// compared with it (EXP-6).
type Rank struct {
	Kind     LevelKind            `json:"kind"` // queues, applications or asks
	In       string               `json:"in"`   // the queue or the application whose members are compared
	Member   Member               `json:"member"`
	Position int                  `json:"position"`  // 1: the first
	Of       int                  `json:"of"`        // members with pending asks
	Orders   []policies.Criterion `json:"orderedBy"` // the criteria, the strongest first
	First    []Ahead              `json:"ahead,omitempty"`
}

// LevelKind says what a Rank compares.
type LevelKind string

// The kinds of levels.
const (
	Queues       LevelKind = "queues"       // the children of a parent queue
	Applications LevelKind = "applications" // those of a leaf
	Asks         LevelKind = "asks"         // those of an application
)

// Member is a queue, application or ask with its sort key.
type Member struct {
	Name     string `json:"name"`
	Priority int32  `json:"priority"`
	RaisedBy int32  `json:"raisedBy,omitempty"` // part of the priority of an application: it has waited for as long
	// the fair share of a queue; of an application in a Fair leaf its largest share, or usage without a guarantee
	Share     float64           `json:"share"`
	Usage     *Usage            `json:"usage,omitempty"`    // over time, where that orders (FAI-4)
	Submitted objects.Timestamp `json:"submitted,omitzero"` // of an application, or when an ask was created
}

// Usage is the usage over time of a queue, an application or its user, in parts of the cluster.
type Usage struct {
	Share  float64 `json:"share"`  // on average; what was used a half-life ago counts for half
	Held   float64 `json:"held"`   // now
	Weight float64 `json:"weight"` // both are divided by it
	Key    float64 `json:"key"`    // what is compared; the smaller one goes first
}

// UsageOverTime says what is known of usage over time at a time.
type UsageOverTime struct {
	At            time.Time
	OfQueue       func(*objects.Queue) *fairness.Usage
	OfApplication func(*objects.Application) *fairness.Usage
}

func (t *UsageOverTime) of(u *fairness.Usage) *Usage {
	if u == nil {
		return nil
	}
	return &Usage{u.Share(t.At), u.Held(), u.Weight(), u.Key(t.At)}
}

// Ahead is a member that comes before the one on the path of the ask.
type Ahead struct {
	Member
	By policies.Criterion `json:"by"` // the criterion by which it does
}

// maxAhead bounds the members ahead that a level lists: the first in order.
const maxAhead = 3

// Ranks returns the place of x in selection order, level by level: which children of each queue on its path come
// before, which applications of its leaf, and which asks of its application (EXP-6). A decision takes the first of each
// level that can be placed, whatever its rank: an ask with all gates open is placed before any that has a closed one.
//
// Requires: as for Gates. The cost grows with the number of members that come before.
func Ranks(x *objects.Allocation, t UsageOverTime) (ranks []Rank) {
	path := pathTo(x.Application().Queue())
	for i, parent := range path[:len(path)-1] {
		ranks = append(ranks, t.queueLevel(parent, path[i+1]))
	}
	return append(ranks, t.applicationLevel(x.Application()), askLevel(x))
}

// pathTo returns the queues from root to leaf.
func pathTo(leaf *objects.Queue) (path []*objects.Queue) {
	for q := leaf; q != nil; q = q.Parent() {
		path = append([]*objects.Queue{q}, path...)
	}
	return path
}

func (t *UsageOverTime) queueLevel(parent, child *objects.Queue) Rank {
	key := child.OrderKey()
	l := Rank{Kind: Queues, In: string(parent.Path()), Member: t.queueMember(child), Position: 1,
		Orders: queueCriteria(parent)}
	found := false
	for other := range parent.OrderedChildren() {
		l.Of++
		found = found || other == child
		if found {
			continue
		}
		l.Position++
		if len(l.First) < maxAhead {
			k := other.OrderKey()
			by, _ := policies.QueueCriterion(&k, &key, parent.QueueSort())
			l.First = append(l.First, Ahead{t.queueMember(other), by})
		}
	}
	return l
}

func (t *UsageOverTime) queueMember(q *objects.Queue) Member {
	key := q.OrderKey()
	return Member{Name: key.Path, Priority: key.Priority.Number(), Share: key.Share.Float(), Usage: t.of(t.OfQueue(q))}
}

func queueCriteria(parent *objects.Queue) []policies.Criterion {
	use := policies.ByShare
	if parent.OverTime() {
		use = policies.ByUsage
	}
	if parent.PrioritySort() == policies.PriorityIgnored {
		return []policies.Criterion{use, policies.ByPriority, policies.ByPending, policies.ByName}
	}
	return []policies.Criterion{policies.ByPriority, use, policies.ByPending, policies.ByName}
}

func (t *UsageOverTime) applicationLevel(a *objects.Application) Rank {
	leaf, key := a.Queue(), a.OrderKey()
	l := Rank{Kind: Applications, Position: 1, In: string(leaf.Path()), Member: t.applicationMember(a),
		Orders: applicationCriteria(leaf)}
	found := false
	for other := range leaf.OrderedApplications() {
		l.Of++
		found = found || other == a
		if found {
			continue
		}
		l.Position++
		if len(l.First) < maxAhead {
			k := other.OrderKey()
			by, _ := leaf.AppSort().AppCriterion(&k, &key, leaf.PrioritySort())
			l.First = append(l.First, Ahead{t.applicationMember(other), by})
		}
	}
	return l
}

func (t *UsageOverTime) applicationMember(a *objects.Application) Member {
	key := a.OrderKey()
	m := Member{Name: key.ID, Priority: key.Priority.Number(), RaisedBy: a.Aged(),
		Submitted: objects.TimestampOf(a.Submitted()), Usage: t.of(t.OfApplication(a))}
	if len(key.Shares) > 0 {
		m.Share = key.Shares[0].Float()
	}
	return m
}

func applicationCriteria(leaf *objects.Queue) []policies.Criterion {
	order := []policies.Criterion{policies.BySubmission}
	switch leaf.AppSort() {
	case policies.Fair:
		order = []policies.Criterion{policies.ByShare}
	case policies.OverTime:
		order = []policies.Criterion{policies.ByUsage, policies.BySubmission}
	}
	if leaf.PrioritySort() == policies.PriorityIgnored {
		return append(order, policies.ByPriority, policies.ByName)
	}
	return append(append([]policies.Criterion{policies.ByPriority}, order...), policies.ByName)
}

func askLevel(x *objects.Allocation) Rank {
	l := Rank{
		Kind: Asks, In: string(x.Application().ID()), Member: askMember(x), Of: x.Application().PendingAskCount(),
		Orders: []policies.Criterion{policies.ByPriority, policies.ByCreation, policies.ByArrival},
	}
	count, first := x.AsksBefore()
	l.Position = 1 + count
	if first != nil {
		k, key := first.OrderKey(), x.OrderKey()
		by, _ := policies.AskCriterion(&k, &key)
		l.First = []Ahead{{askMember(first), by}}
	}
	return l
}

func askMember(x *objects.Allocation) Member {
	return Member{Name: string(x.Key()), Priority: x.OrderKey().Priority, Submitted: objects.TimestampOf(x.Created())}
}
