package explain

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Action is the kind of a Change.
type Action uint8

// The actions. Their comments say what each does with the fields of Change.
const (
	ConnectResourceManager    Action = iota // a resource manager registers and opens its allocation stream
	SubmitMembers                           // Count further asks of task group Subject are sent
	EndApplications                         // Count of the Candidates end
	RaiseQueueMaxApplications               // maxapplications of Queue becomes Count
	RaiseLimitMaxApplications               // maxapplications of the limit of UserOrGroup in Queue becomes Count
	FreeInQueue                             // allocations in and below Queue release Amounts
	FreeOfLimit                             // allocations of UserOrGroup in and below Queue release Amounts
	FreeInCluster                           // any allocations release Amounts, of nodes that are not overcommitted
	FreeOnNode                              // allocations on Node release Amounts
	RaiseQueueMax                           // the max of Queue becomes Amounts, for these resources
	RaiseLimit                              // maxresources of the limit of UserOrGroup in Queue becomes Amounts
	// a node with Amounts or more joins; with Subject: one that these constraints of the ask admit
	AddNode
	// Node, which is required and unknown, joins with Amounts or more; Subject as above
	RegisterNode
	// the capacity of Node, which is required, becomes Amounts, for these resources
	GrowNode
	Uncordon           // Node becomes schedulable
	RemoveTaints       // Node loses the taints Candidates, or the ask tolerates them
	ReleaseApplication // application Subject is no longer on hold
	StartQueue         // Queue is no longer stopped
	MoveApplication    // application Subject is moved to another queue
	Request            // the ask requests no more than Amounts
)

// Code returns the stable code of the action.
func (a Action) Code() string {
	return [...]string{
		"connectResourceManager", "submitMembers", "endApplications", "raiseQueueMaxApplications",
		"raiseLimitMaxApplications", "freeInQueue", "freeOfLimit",
		"freeInCluster", "freeOnNode", "raiseQueueMax", "raiseLimit", "addNode", "registerNode", "growNode", "uncordon",
		"removeTaints", "releaseApplication", "startQueue",
		"moveApplication", "request",
	}[a]
}

// Change is the smallest change of its kind that opens a gate (EXP-4). The fields that its action does not name are
// empty.
type Change struct {
	Action         Action
	Subject        string
	Queue          objects.QueuePath
	UserOrGroup    quota.UserOrGroup
	Node           objects.NodeID
	Amounts        resources.Amounts
	Count          uint64
	Candidates     []string // at most maxCandidates
	MoreCandidates int      // the number of further candidates
	AlsoOpens      []Kind   // other closed gates that it opens
}

// maxCandidates bounds the candidates that a change names.
const maxCandidates = 5

func (c *Change) addCandidate(name string) {
	if len(c.Candidates) < maxCandidates {
		c.Candidates = append(c.Candidates, name)
		return
	}
	c.MoreCandidates++
}

// String returns the change as an instruction: "free vcore 2 in queue root.a".
func (c Change) String() string {
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
		return fmt.Sprintf("raise maxapplications of the limit of %s in queue %s to %d", c.UserOrGroup, c.Queue, c.Count)
	case FreeInQueue:
		return fmt.Sprintf("free %s in queue %s", amounts, c.Queue)
	case FreeOfLimit:
		return fmt.Sprintf("free %s of %s in queue %s", amounts, c.UserOrGroup, c.Queue)
	case FreeInCluster:
		return fmt.Sprintf("free %s in the cluster", amounts)
	case FreeOnNode:
		return fmt.Sprintf("free %s on node %s", amounts, c.Node)
	case RaiseQueueMax:
		return fmt.Sprintf("raise the max of queue %s to %s", c.Queue, amounts)
	case RaiseLimit:
		return fmt.Sprintf("raise the limit of %s in queue %s to %s", c.UserOrGroup, c.Queue, amounts)
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
func (c *Change) requiredText() string {
	if c.Subject == "" {
		return ""
	}
	return " that " + c.Subject
}

func (c *Change) endText() string {
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
