package offline

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Assertions are what a file says about a configuration (docs/ASSERTIONS.md).
type Assertions struct {
	Partition string            // default: default
	Cluster   resources.Amounts // of assertions that state none
	List      []Assertion
}

// Assertion is one question and what the answer must be. Exactly one of the questions is
// set.
type Assertion struct {
	Line      int
	Name      string // empty: the question is its name
	Partition string
	Cluster   *resources.Amounts // the nodes, taken together; nil: none are stated

	Place     *placement.Submission
	Queue     string // what holds for a queue
	Limit     *LimitQuery
	Workloads []Workload // in what order queues go

	Expect Expect
}

// LimitQuery asks what limits leave in a queue: to a user together with the group that answers
// for the user, or to a group.
type LimitQuery struct {
	Queue  string
	User   string   // empty: it is about Group
	Groups []string // of the user
	Group  string   // "*" is everybody who is in no group that is named
}

// holder is the user or the group, in words.
func (l *LimitQuery) holder() string {
	if l.User == "" {
		return "group " + l.Group
	}
	return "user " + l.User
}

// Workload is work in a leaf: what it asks for at which priority, and what it holds already.
type Workload struct {
	Queue         string
	User          string // for a leaf that a rule would create: who must have access there
	Groups        []string
	Priority      int32
	Pending, Used resources.Amounts
}

// Expect is what must come out. What is not said is not compared.
type Expect struct {
	Queue    *string // of place
	Rejected *string // of place: part of the reason
	Rule     *string // of place: that decided
	Created  *bool   // of place: the queue did not exist

	Max, Guaranteed ExpectedQuantities // of place and queue: effective
	MaxApplications *uint64            // of place, queue and limit

	MaxResources ExpectedQuantities // of limit
	Group        *string            // of limit: that answers; empty: none does

	Order      []string        // of work: who goes before whom
	Priorities []QueuePriority // of work
}

// QueuePriority is the priority that a queue shows its parent; Pending false: nothing is pending.
type QueuePriority struct {
	Queue    string
	Priority int32
	Pending  bool
}

// ExpectedQuantities is what some resources must be limited to, in name order. nil: nothing is
// said.
type ExpectedQuantities []ExpectedQuantity

// ExpectedQuantity is what one resource must be limited to.
type ExpectedQuantity struct {
	Resource  string
	N         resources.Quantity
	Unlimited bool // it must not be limited
}

func (q ExpectedQuantity) String() string { return formatExpected(q.Resource, q.N, !q.Unlimited) }

func formatExpected(resource string, n resources.Quantity, limited bool) string {
	if !limited {
		return "unlimited"
	}
	return resources.FormatQuantity(resource, n)
}

// Question is the assertion's question in words.
func (a *Assertion) Question() string {
	switch {
	case a.Place != nil:
		words := "place an application of " + a.Place.User.Name
		if a.Place.Queue != "" {
			words += " that names " + a.Place.Queue
		}
		return words
	case a.Limit != nil:
		return fmt.Sprintf("limit of %s in %s", a.Limit.holder(), a.Limit.Queue)
	case a.Workloads != nil:
		var queues []string
		for _, w := range a.Workloads {
			queues = append(queues, w.Queue)
		}
		return "work in " + strings.Join(queues, ", ")
	}
	return "queue " + a.Queue
}

// Mistake is something wrong with a file of assertions, at its place.
type Mistake struct {
	Line, Column  int
	Message, Hint string // Hint may be empty
}

// String is "line:column: message (hint: ...)".
func (m Mistake) String() string {
	out := fmt.Sprintf("%d:%d: %s", m.Line, m.Column, m.Message)
	if m.Hint != "" {
		out += " (hint: " + m.Hint + ")"
	}
	return out
}
