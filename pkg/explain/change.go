package explain

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Action is the kind of a GateChange.
type Action string

// The actions. Their comments say what each does with the fields of GateChange.
const (
	// a resource manager registers and opens its allocation stream
	ConnectResourceManager    Action = "connectResourceManager"
	SubmitMembers             Action = "submitMembers"             // Count further asks of task group Subject are sent
	EndApplications           Action = "endApplications"           // Count of the Candidates end
	RaiseQueueMaxApplications Action = "raiseQueueMaxApplications" // maxapplications of Queue becomes Count
	// maxapplications of the limit of User or Group in Queue becomes Count
	RaiseLimitMaxApplications Action = "raiseLimitMaxApplications"
	FreeInQueue               Action = "freeInQueue" // allocations in and below Queue release Amounts
	// allocations of User or Group in and below Queue release Amounts
	FreeOfLimit Action = "freeOfLimit"
	// any allocations release Amounts, of nodes that are not overcommitted
	FreeInCluster Action = "freeInCluster"
	FreeOnNode    Action = "freeOnNode" // allocations on Node release Amounts
	// the max of Queue becomes Amounts, for these resources
	RaiseQueueMax Action = "raiseQueueMax"
	// maxresources of the limit of User or Group in Queue becomes Amounts
	RaiseLimit Action = "raiseLimit"
	// a node with Amounts or more joins; with Subject: one that these constraints of the ask admit
	AddNode Action = "addNode"
	// Node, which is required and unknown, joins with Amounts or more; Subject as above
	RegisterNode Action = "registerNode"
	// the capacity of Node, which is required, becomes Amounts, for these resources
	GrowNode           Action = "growNode"
	Uncordon           Action = "uncordon"           // Node becomes schedulable
	RemoveTaints       Action = "removeTaints"       // Node loses the taints Candidates, or the ask tolerates them
	ReleaseApplication Action = "releaseApplication" // application Subject is no longer on hold
	StartQueue         Action = "startQueue"         // Queue is no longer stopped
	MoveApplication    Action = "moveApplication"    // application Subject is moved to another queue
	Request            Action = "request"            // the ask requests no more than Amounts
)

// GateChange is the smallest change of its kind that opens a gate (EXP-4). The fields that its action does not name are
// empty.
type GateChange struct {
	Action         Action            `json:"action"` // see docs/EXPLAIN.md
	Message        string            `json:"message"`
	Subject        string            `json:"subject,omitempty"`
	Queue          objects.QueuePath `json:"queueName,omitempty"`
	User           string            `json:"user,omitempty"`
	Group          string            `json:"group,omitempty"`
	Node           objects.NodeID    `json:"nodeID,omitempty"`
	Amounts        resources.Amounts `json:"resource,omitzero"`
	Count          uint64            `json:"count,omitempty"`
	Candidates     []string          `json:"candidates,omitempty"`
	MoreCandidates int               `json:"moreCandidates,omitempty"`
	AlsoOpens      []Kind            `json:"alsoOpens,omitempty"` // the kinds of other closed gates that it opens
}

// limitOf sets the user or the group of the limit that c is.
func (c *GateChange) limitOf(limit quota.Constraint) {
	if of := limit.Account().UserOrGroup(); of.Group {
		c.Group = of.Name
	} else {
		c.User = of.Name
	}
}

// UserOrGroup returns User or Group.
func (c GateChange) UserOrGroup() quota.UserOrGroup {
	return quota.UserOrGroup{Group: c.Group != "", Name: c.User + c.Group}
}

// maxCandidates bounds the candidates that a change names.
const maxCandidates = 5

func (c *GateChange) addCandidate(name string) {
	if len(c.Candidates) < maxCandidates {
		c.Candidates = append(c.Candidates, name)
		return
	}
	c.MoreCandidates++
}

// RequestNoMore returns the change of an ask to its largest request (EXP-5); nil without one.
func RequestNoMore(largest resources.Amounts) *GateChange {
	if largest.IsZero() {
		return nil
	}
	c := GateChange{Action: Request, Amounts: largest}
	c.Message = c.String()
	return &c
}

// String returns the change as an instruction: "free vcore 2 in queue root.a".
func (c GateChange) String() string {
	amounts := amountsText(c.Amounts)
	switch c.Action {
	case ConnectResourceManager:
		return "connect a resource manager, with its allocation stream open"
	case SubmitMembers:
		return fmt.Sprintf("submit %d more %s of task group %s", c.Count, plural(c.Count, "ask"), c.Subject)
	case EndApplications:
		return c.endText()
	case RaiseQueueMaxApplications:
		return fmt.Sprintf("raise maxapplications of queue %s to %d", c.Queue, c.Count)
	case RaiseLimitMaxApplications:
		return fmt.Sprintf("raise maxapplications of the limit of %s in queue %s to %d", c.UserOrGroup(), c.Queue, c.Count)
	case FreeInQueue:
		return fmt.Sprintf("free %s in queue %s", amounts, c.Queue)
	case FreeOfLimit:
		return fmt.Sprintf("free %s of %s in queue %s", amounts, c.UserOrGroup(), c.Queue)
	case FreeInCluster:
		return fmt.Sprintf("free %s in the cluster", amounts)
	case FreeOnNode:
		return fmt.Sprintf("free %s on node %s", amounts, c.Node)
	case RaiseQueueMax:
		return fmt.Sprintf("raise the max of queue %s to %s", c.Queue, amounts)
	case RaiseLimit:
		return fmt.Sprintf("raise the limit of %s in queue %s to %s", c.UserOrGroup(), c.Queue, amounts)
	case AddNode:
		return "add a node with " + amounts + c.requiredText()
	case RegisterNode:
		return fmt.Sprintf("register node %s with %s%s", c.Node, amounts, c.requiredText())
	case GrowNode:
		return fmt.Sprintf("raise the capacity of node %s to %s", c.Node, amounts)
	case Uncordon:
		return fmt.Sprintf("uncordon node %s", c.Node)
	case RemoveTaints:
		return fmt.Sprintf("remove %s from node %s, or let the ask tolerate %s", strings.Join(c.Candidates, ", "), c.Node,
			itOrThem(len(c.Candidates)))
	}
	switch c.Action {
	case ReleaseApplication:
		return fmt.Sprintf("release application %s, which is on hold", c.Subject)
	case StartQueue:
		return fmt.Sprintf("start queue %s, which is stopped", c.Queue)
	case MoveApplication:
		return fmt.Sprintf("move application %s to another queue", c.Subject)
	}
	return "request no more than " + amounts
}

// requiredText says what a new node must have besides resources.
func (c *GateChange) requiredText() string {
	if c.Subject == "" {
		return ""
	}
	return " that " + c.Subject
}

func (c *GateChange) endText() string {
	names := strings.Join(c.Candidates, ", ")
	if c.MoreCandidates > 0 {
		names += fmt.Sprintf(" or %d more", c.MoreCandidates)
	}
	if c.Count == uint64(len(c.Candidates)+c.MoreCandidates) {
		return fmt.Sprintf("end %s %s", plural(c.Count, "application"), strings.ReplaceAll(names, " or ", " and "))
	}
	return fmt.Sprintf("end %d of these applications: %s", c.Count, names)
}

func plural(n uint64, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func itOrThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// amountsText returns amounts for people: "memory 2Gi, vcore 3".
func amountsText(a resources.Amounts) string {
	var parts []string
	for name, n := range a.All() {
		parts = append(parts, resources.FormatNamedQuantity(name, n))
	}
	return strings.Join(parts, ", ")
}
