package webservice

import (
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// What GET .../preemptions, GET .../preemptions/{number} and POST .../preemptions/dry-run
// answer, for clients written in Go.
type (
	PreemptionList      = preemptionsBody
	Preemption          = preemptionBody
	PreemptionVictim    = victimBody
	PreemptionCandidate = candidateBody
	Supposition         = suppositionBody
)

// suppositionBody is what would become of an ask.
type suppositionBody struct {
	Time        int64         `json:"time"`
	Outcome     string        `json:"outcome"` // fits, waits, preempts, nothing or may not start
	Verdict     string        `json:"verdict"` // what keeps it from being placed at once
	Ask         *claimantBody `json:"ask"`
	Pending     bool          `json:"pending"` // there is such an ask, and the resource manager was asked
	NodeID      string        `json:"nodeID,omitempty"`
	Victims     []victimBody  `json:"victims,omitempty"`
	MoreVictims int           `json:"moreVictims,omitempty"`
	Rights      []claimBody   `json:"rights"`
	Tried       []searchBody  `json:"tried,omitempty"`

	CandidatesNode string          `json:"candidatesNodeID,omitempty"`
	Candidates     []candidateBody `json:"candidates,omitempty"`
	MoreCandidates int             `json:"moreCandidates,omitempty"`
}

// claimBody is a right that the ask has, or why it does not.
type claimBody struct {
	Right     string `json:"right"`
	Has       bool   `json:"has"`
	Why       string `json:"why,omitempty"`
	QueueName string `json:"queueName,omitempty"` // that the reason is about, or that owes the room
	Due       int64  `json:"due,omitempty"`       // when it will have the right
}

// searchBody is how looking for victims by a right went.
type searchBody struct {
	Right      string         `json:"right"`
	Found      bool           `json:"found"`
	TotalNodes int            `json:"totalNodes"`
	Nodes      *seenBody      `json:"nodes"`
	Hopeless   int            `json:"hopeless"`            // where there would be no room if everybody left
	NotLooked  int            `json:"notLookedAt"`         // there is nobody in reach, or they cannot be better
	Obstacles  map[string]int `json:"obstacles,omitempty"` // of the nodes without a plan
	Quotas     []wallBody     `json:"quotas,omitempty"`    // that are in the way
	Across     bool           `json:"acrossNodes"`         // no node alone was enough for a quota: others leave elsewhere
	Plans      []planBody     `json:"plans,omitempty"`     // the best, the one that is taken first
}

type wallBody struct {
	Quota   string     `json:"quota"`
	Missing quantities `json:"missing"` // that would have to go
	Nodes   int        `json:"nodes"`
}

type planBody struct {
	NodeID        string       `json:"nodeID"`
	Victims       []victimBody `json:"victims"`
	MoreVictims   int          `json:"moreVictims,omitempty"`
	BeyondBudgets int          `json:"beyondBudgets,omitempty"`
	Opposed       bool         `json:"opposed,omitempty"` // one of them did not agree to leave
	Leads         bool         `json:"leads,omitempty"`   // one of them leads its application
}

func viewSupposition(s *scheduler.Supposition) *suppositionBody {
	body := &suppositionBody{
		Time: nanos(s.At), Outcome: s.Outcome.String(), Verdict: s.Verdict.String(), Ask: viewClaimant(&s.Ask), Pending: s.Pending,
		NodeID: string(s.Node), Victims: viewVictims(s.Victims), MoreVictims: s.MoreVictims,
		CandidatesNode: string(s.CandidatesNode), Candidates: viewCandidates(s.Candidates), MoreCandidates: s.MoreCandidates,
	}
	for _, c := range s.Claims {
		claim := claimBody{Right: rightNames[c.Right], Has: c.Bar == preemption.HasRight, QueueName: string(c.Queue), Due: nanos(c.Due)}
		if !claim.Has {
			claim.Why = c.Bar.String()
		}
		body.Rights = append(body.Rights, claim)
	}
	for i := range s.Tried {
		body.Tried = append(body.Tried, viewSearch(&s.Tried[i]))
	}
	return body
}

func viewSearch(q *scheduler.SupposedSearch) searchBody {
	body := searchBody{Right: rightNames[q.Right], Found: q.Found, TotalNodes: q.Nodes, Nodes: viewSeen(q.Seen), Hopeless: q.Hopeless, Across: q.Across}
	body.NotLooked = q.Nodes - q.Hopeless - body.Nodes.Compared - body.Nodes.NoPlan - body.Nodes.Refused
	for o, n := range q.Obstacles {
		if n > 0 {
			if body.Obstacles == nil {
				body.Obstacles = map[string]int{}
			}
			body.Obstacles[preemption.Obstacle(o).String()] = n
		}
	}
	for _, w := range q.InTheWay {
		body.Quotas = append(body.Quotas, wallBody{w.Verdict.String(), amountsOf(w.Missing), w.Nodes})
	}
	for _, p := range q.Best {
		body.Plans = append(body.Plans, planBody{string(p.Node), viewVictims(p.Victims), p.MoreVictims, p.BeyondBudgets, p.Opposed, p.Leads})
	}
	return body
}

// amountsOf writes quantities in base units.
func amountsOf(a resources.Amounts) quantities { return quantitiesOf(a.All()) }
