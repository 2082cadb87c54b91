package dao

import (
	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Gate is one condition for an ask to be placed, open or closed (EXP-1 to EXP-3).
type Gate struct {
	Kind      string   `json:"kind"` // see docs/EXPLAIN.md
	Subject   string   `json:"subject,omitempty"`
	Closed    bool     `json:"closed"`
	Permanent bool     `json:"permanent,omitempty"` // closed, and no end of an allocation opens it
	Message   string   `json:"message"`
	Resources []Figure `json:"resources,omitempty"`
	// of nodes: the one that lacks the least, which resources are about
	NodeID     string           `json:"nodeID,omitempty"`
	HeldFor    []objects.Holder `json:"heldFor,omitempty"` // of nodes: the asks for which something is held on nodeID
	Running    int              `json:"running,omitempty"`
	MaxRunning uint64           `json:"maxRunning,omitempty"`
	Until      int64            `json:"until,omitempty"`   // when it opens by itself at the latest
	Changes    []GateChange     `json:"changes,omitempty"` // each of them opens it
}

// Figure has an amount of a resource behind a gate.
type Figure struct {
	Resource  string `json:"resource"`
	Requested int64  `json:"requested"`
	Free      int64  `json:"free"`
	Max       int64  `json:"max"`
	Held      int64  `json:"held,omitempty"`    // on the node for other asks, which free is without
	Missing   int64  `json:"missing,omitempty"` // what must become free besides
}

// GateChange is the smallest change of its kind that opens a gate (EXP-4).
type GateChange struct {
	Action         string     `json:"action"` // see docs/EXPLAIN.md
	Message        string     `json:"message"`
	Subject        string     `json:"subject,omitempty"`
	QueueName      string     `json:"queueName,omitempty"`
	User           string     `json:"user,omitempty"`
	Group          string     `json:"group,omitempty"`
	NodeID         string     `json:"nodeID,omitempty"`
	Resource       Quantities `json:"resource,omitempty"`
	Count          uint64     `json:"count,omitempty"`
	Candidates     []string   `json:"candidates,omitempty"`
	MoreCandidates int        `json:"moreCandidates,omitempty"`
	AlsoOpens      []string   `json:"alsoOpens,omitempty"` // the kinds of other closed gates that it opens
}

// Rank is one level of the selection order, with the place of the ask in it (EXP-6).
type Rank struct {
	Kind      string   `json:"kind"` // queues, applications or asks
	In        string   `json:"in"`   // the queue or the application whose members are compared
	Member    Member   `json:"member"`
	Position  int      `json:"position"`  // 1: the first
	Of        int      `json:"of"`        // members with pending asks
	OrderedBy []string `json:"orderedBy"` // the criteria, the strongest first
	Ahead     []Ahead  `json:"ahead,omitempty"`
}

// Member is a queue, an application or an ask, with what it is ordered by.
type Member struct {
	Name     string `json:"name"`
	Priority int32  `json:"priority"`
	// the fair share of a queue; of an application in a Fair leaf its largest share, or usage without a guarantee
	Share     float64 `json:"share"`
	Submitted int64   `json:"submitted,omitempty"` // of an application, or when an ask was created
}

// Ahead is a member that comes before.
type Ahead struct {
	Member
	By string `json:"by"` // the criterion by which it does
}

func viewGates(gates []explain.Gate) (out []Gate) {
	for _, g := range gates {
		v := Gate{Kind: g.Kind.Code(), Subject: g.Subject, Closed: g.Closed, Permanent: g.Permanent, Message: g.String(),
			NodeID: string(g.Node), HeldFor: g.HeldFor, Running: g.Running, MaxRunning: g.MaxRunning, Until: Nanos(g.Until)}
		for _, f := range g.Figures {
			v.Resources = append(v.Resources,
				Figure{f.Resource, int64(f.Requested), int64(g.Left(f)), int64(f.Max), int64(f.Held), max(0, int64(f.Missing()))})
		}
		for _, c := range g.Changes {
			v.Changes = append(v.Changes, viewChange(c))
		}
		out = append(out, v)
	}
	return out
}

func viewChange(c explain.Change) GateChange {
	v := GateChange{
		Action: c.Action.Code(), Message: c.String(), Subject: c.Subject, QueueName: string(c.Queue), NodeID: string(c.Node),
		Count:      c.Count,
		Candidates: c.Candidates, MoreCandidates: c.MoreCandidates,
	}
	if !c.Amounts.IsZero() {
		v.Resource = amountsOf(c.Amounts)
	}
	for _, kind := range c.AlsoOpens {
		v.AlsoOpens = append(v.AlsoOpens, kind.Code())
	}
	if c.UserOrGroup.Group {
		v.Group = c.UserOrGroup.Name
	} else {
		v.User = c.UserOrGroup.Name
	}
	return v
}

// viewLargest is the change of the request that would do, if there is one (EXP-5).
func viewLargest(largest resources.Amounts) *GateChange {
	if largest.IsZero() {
		return nil
	}
	v := viewChange(explain.Change{Action: explain.Request, Amounts: largest})
	return &v
}

func viewRank(r explain.Rank) (out []Rank) {
	for _, l := range r.Levels {
		v := Rank{Kind: l.Kind.Code(), In: l.In, Member: viewMember(l.Member), Position: l.Before + 1, Of: l.Of}
		for _, by := range l.Orders {
			v.OrderedBy = append(v.OrderedBy, by.Code())
		}
		for _, a := range l.First {
			v.Ahead = append(v.Ahead, Ahead{viewMember(a.Member), a.By.Code()})
		}
		out = append(out, v)
	}
	return out
}

func viewMember(m explain.Member) Member {
	return Member{m.Name, m.Priority, m.Share, Nanos(m.Submitted)}
}

func viewEntitlements(all []preemption.DryRunEntitlement) (out []Entitlement) {
	for _, c := range all {
		v := Entitlement{PreemptionReason: ReasonNames[c.Reason], Entitled: c.NotEntitled == preemption.Entitled,
			QueueName: string(c.Queue), EntitledAt: Nanos(c.Due), Over: c.Over}
		if !v.Entitled {
			v.Reason = c.NotEntitled.String()
		}
		out = append(out, v)
	}
	return out
}
