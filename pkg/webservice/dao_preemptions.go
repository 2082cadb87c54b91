package webservice

import (
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The ledger of preemptions is ours: upstream keeps none.

type preemptionsBody struct {
	Made        uint64           `json:"made"`       // since the partition was there
	Remembered  int              `json:"remembered"` // the last ones
	Strays      uint64           `json:"strays"`     // confirmations about nobody, since then
	Paused      []pauseBody      `json:"paused"`     // pairs of leaves that do not take each other's place
	Preemptions []preemptionBody `json:"preemptions"`
}

type pauseBody struct {
	QueueNames [2]string `json:"queueNames"` // twice the same: a leaf that takes nothing of its own
	Since      int64     `json:"since"`
	Until      int64     `json:"until"`
}

type preemptionBody struct {
	Number      uint64          `json:"number"`
	Time        int64           `json:"time"`
	Right       string          `json:"right"`
	TriedBefore []string        `json:"triedBefore,omitempty"` // rights by which nobody could be taken
	Lacks       quantities      `json:"lacks,omitempty"`       // by pressure: what the node does not have
	AboveMax    *excessBody     `json:"aboveMax,omitempty"`    // by right of quota: instead of an ask
	Ask         *claimantBody   `json:"ask,omitempty"`
	NodeID      string          `json:"nodeID,omitempty"`
	Nodes       *seenBody       `json:"nodes,omitempty"`
	Victims     []victimBody    `json:"victims"`
	MoreVictims int             `json:"moreVictims,omitempty"` // that are not listed
	Candidates  []candidateBody `json:"candidates,omitempty"`  // of one preemption only, as the next
	More        int             `json:"moreCandidates,omitempty"`
	Nomination  *nominationBody `json:"nomination,omitempty"`
	Placed      *placedBody     `json:"placed,omitempty"`
	Cancelled   int64           `json:"cancelled,omitempty"`
}

type excessBody struct {
	QueueName string     `json:"queueName"`
	By        quantities `json:"by"`
}

type claimantBody struct {
	AllocationKey  string     `json:"allocationKey"`
	ApplicationID  string     `json:"applicationID"`
	User           string     `json:"user"`
	QueueName      string     `json:"queueName"`
	Priority       int32      `json:"priority"`
	Resource       quantities `json:"resource"`
	RequestTime    int64      `json:"requestTime,omitempty"`
	RequiredNodeID string     `json:"requiredNodeId,omitempty"`
}

// seenBody counts the nodes that were looked at.
type seenBody struct {
	Compared int `json:"compared"` // where room can be made
	NoPlan   int `json:"noPlan"`   // where it cannot
	Refused  int `json:"refused"`  // by the resource manager
}

type victimBody struct {
	AllocationKey  string     `json:"allocationKey"`
	ApplicationID  string     `json:"applicationID"`
	QueueName      string     `json:"queueName"`
	NodeID         string     `json:"nodeID"`
	Priority       int32      `json:"priority"`
	Resource       quantities `json:"resource"`
	AllocationTime int64      `json:"allocationTime"`
	RanSeconds     int64      `json:"ranSeconds"`         // until it was told to leave
	GraceSeconds   int64      `json:"gracePeriodSeconds"` // that the resource manager gives it to end in
	LostWork       quantities `json:"lostWork"`           // resource times seconds
	State          string     `json:"state"`
	Left           int64      `json:"left,omitempty"`
	Termination    string     `json:"termination,omitempty"` // as the resource manager said
}

type candidateBody struct {
	AllocationKey string `json:"allocationKey"`
	ApplicationID string `json:"applicationID"`
	QueueName     string `json:"queueName"`
	Priority      int32  `json:"priority"`
	Victim        bool   `json:"victim"`
	Why           string `json:"why"` // the law that kept it, or that none did
}

type nominationBody struct {
	State string `json:"state"`
	Until int64  `json:"until,omitempty"`
	To    string `json:"to,omitempty"`  // the ask that has the node instead
	Why   string `json:"why,omitempty"` // what stood in the way
}

type placedBody struct {
	Time         int64  `json:"time"`
	NodeID       string `json:"nodeID"`
	AfterSeconds int64  `json:"afterSeconds"` // since the others were told to leave
}

func viewPauses(list []preemption.Pause) []pauseBody {
	out := make([]pauseBody, len(list))
	for i, p := range list {
		out[i] = pauseBody{[2]string{string(p.A), string(p.B)}, nanos(p.Since), nanos(p.Until)}
	}
	return out
}

func viewPreemption(r *scheduler.Preemption) preemptionBody {
	body := preemptionBody{
		Number: r.Number, Time: nanos(r.At), Right: rightNames[r.Right], Victims: viewVictims(r.Victims), MoreVictims: r.MoreVictims,
	}
	body.NodeID = string(r.Node)
	switch r.Right {
	case preemption.OfQuota:
		body.AboveMax = &excessBody{string(r.Excess.Queue), amountsOf(r.Excess.By)}
		return body
	case preemption.OfPressure:
		body.Lacks = amountsOf(r.Excess.By)
		return body
	}
	body.Ask, body.Nodes, body.Cancelled = viewClaimant(&r.Ask), viewSeen(r.Seen), nanos(r.Dropped)
	body.Nomination = &nominationBody{State: r.Nomination.State.String(), Until: nanos(r.Nomination.Until), To: string(r.Nomination.To)}
	for _, v := range r.Vain {
		body.TriedBefore = append(body.TriedBefore, rightNames[v])
	}
	if r.Nomination.State == scheduler.NominationGivenUp {
		body.Nomination.Why = r.Nomination.Why.String()
	}
	if at := r.Placed.At; !at.IsZero() {
		body.Placed = &placedBody{nanos(at), string(r.Placed.Node), int64(at.Sub(r.At).Seconds())}
	}
	return body
}

func viewClaimant(a *scheduler.Claimant) *claimantBody {
	return &claimantBody{
		AllocationKey: string(a.Key), ApplicationID: string(a.App), User: a.User, QueueName: string(a.Queue),
		Priority: a.Priority, Resource: amountsOf(a.Amounts), RequestTime: nanos(a.Created), RequiredNodeID: string(a.RequiredNode),
	}
}

func viewSeen(s preemption.Seen) *seenBody {
	return &seenBody{Compared: s[preemption.Compared], NoPlan: s[preemption.NoPlan], Refused: s[preemption.Refused]}
}

func viewVictims(list []scheduler.Victim) []victimBody {
	out := make([]victimBody, len(list))
	for i := range list {
		v := &list[i]
		out[i] = victimBody{
			AllocationKey: string(v.Key), ApplicationID: string(v.App), QueueName: string(v.Queue), NodeID: string(v.Node),
			Priority: v.Priority, Resource: amountsOf(v.Amounts), AllocationTime: nanos(v.BoundAt),
			RanSeconds: int64(v.Ran.Seconds()), GraceSeconds: int64(v.Grace.Seconds()), LostWork: amountsOf(v.LostWork()), State: v.End.How.String(), Left: nanos(v.End.At),
		}
		if v.End.How == scheduler.LeftAsTold {
			out[i].Termination = v.End.Type.String()
		}
	}
	return out
}

func viewCandidates(list []scheduler.Candidate) []candidateBody {
	out := make([]candidateBody, len(list))
	for i, y := range list {
		out[i] = candidateBody{string(y.Key), string(y.App), string(y.Queue), y.Priority, y.Victim, fateOf(y.Victim, y.Law)}
	}
	return out
}

// fateOf says what becomes of a candidate, and why.
func fateOf(victim bool, law preemption.Law) string {
	switch {
	case victim:
		return "has to leave"
	case law == preemption.MayBeTaken:
		return "may be taken, but need not go"
	}
	return law.String()
}
