package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Hypothesis is an ask about which the Core is asked what would become of it.
type Hypothesis struct {
	Ask *objects.Ask // nil: Key names one that is pending
	Key objects.AllocationKey

	Class  string            // the priority class of Ask; empty: none
	Named  string            // the one that it names itself; empty: none
	Users  *security.ACL     // who may name the class; nil: everybody
	Who    objects.Applicant // whose it is, if its application is not there
	Waited bool              // as if it had waited as long as preemption.delay
	Node   objects.NodeID    // the node whose candidates are told; empty: that of the plan
}

// Supposition is what would become of an ask now. It is a value, like a Preemption.
type Supposition struct {
	At      time.Time
	Outcome SupposedOutcome
	Ask     Claimant
	Pending bool           // there is such an ask; else it was made up, and the RM was not asked
	Node    objects.NodeID // where it would run, if the outcome has one
	Verdict Verdict        // what keeps it from being placed at once; WaitsForTurn: nothing

	Claims []SupposedClaim
	Tried  []SupposedSearch // by each right that it has, until there is a plan

	Victims         []Victim // if it would preempt: the one that should stay longest first
	MoreVictims     int
	CandidatesNode  objects.NodeID // the node that the next two are about; empty: none
	Candidates      []Candidate
	MoreCandidates  int
	CandidatesRight preemption.Right // by which the laws were asked
}

// SupposedOutcome is what would become of an ask.
type SupposedOutcome uint8

// The outcomes.
const (
	WouldFit      SupposedOutcome = iota // a node has room for it: nobody has to leave
	WouldWait                            // there will be room when those have left who were told to
	WouldPreempt                         // others would be told to leave
	WouldNotFit                          // there is no room, and nobody can be taken
	WouldNotStart                        // its application may not start, which preemption does not change
)

func (o SupposedOutcome) String() string {
	return [...]string{"fits", "waits", "preempts", "nothing", "may not start"}[o]
}

// SupposedClaim is a preemption.Entitlement as a value.
type SupposedClaim struct {
	Right preemption.Right
	Bar   preemption.Bar
	Queue objects.QueuePath // empty: none
	Due   time.Time         // when it will have the right; zero: never, or it has it
}

// SupposedSearch is a preemption.Inquiry as values.
type SupposedSearch struct {
	Right     preemption.Right
	Found     bool
	Nodes     int
	Seen      preemption.Seen
	Hopeless  int
	Obstacles preemption.Obstacles
	InTheWay  []SupposedWall
	Across    bool
	Best      []SupposedPlan
}

// SupposedWall is a quota that is in the way.
type SupposedWall struct {
	Verdict Verdict           // OverMax or OverLimit
	Missing resources.Amounts // how much would have to go
	Nodes   int               // on which it was the obstacle
}

// SupposedPlan is a way to make room.
type SupposedPlan struct {
	Node           objects.NodeID
	Victims        []Victim
	MoreVictims    int
	BeyondBudgets  int  // units that would leave although a disruption budget does not allow it
	Opposed, Leads bool // somebody did not agree to leave; leads an application
}
