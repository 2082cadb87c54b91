package offline

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Assertions are the assertions of a file about a configuration (docs/ASSERTIONS.md).
type Assertions struct {
	Partition string            // default: default
	Cluster   resources.Amounts // of assertions that state none
	List      []Assertion
}

// Assertion is one question and its expected result. Exactly one of Place, Queue, Limit, Workloads and Section is set.
type Assertion struct {
	Line      int
	Name      string // empty: the question is the name
	Partition string
	Cluster   *resources.Amounts // sum of all nodes; nil: not stated

	Place     *placement.Submission // where is this application placed
	Queue     string                // what are the effective quotas of this queue
	Limit     *LimitQuery           // what is the effective limit of a user or group
	Workloads []Workload            // in which order are queues sorted with this work
	Section   string                // what are the settings of this section of the partition, such as reservation

	Expect Expect
}

// LimitQuery asks for the effective limit in a queue: of a user combined with the group that
// the user counts for, or of a group.
type LimitQuery struct {
	Queue  string
	User   string   // empty: the query is about Group
	Groups []string // of the user
	Group  string   // "*" is the pool of the users in no named group
}

// holder is the user or the group, for messages.
func (l *LimitQuery) holder() string {
	if l.User == "" {
		return "group " + l.Group
	}
	return "user " + l.User
}

// Workload is the work in a leaf queue: an ask with a priority, and an allocation.
type Workload struct {
	Queue         string
	User          string // needed for a leaf that a rule would create: the user must have submit access
	Groups        []string
	Priority      int32
	Pending, Used resources.Amounts
}

// Expect is the expected result. Nil fields are not compared.
type Expect struct {
	Queue    *string // of place
	Rejected *string // of place: part of the reason
	Rule     *string // of place: the rule that placed the application
	Created  *bool   // of place: the queue did not exist

	Max, Guaranteed ExpectedQuantities // of place and queue: effective quantities
	MaxApplications *uint64            // of place, queue and limit
	Properties      []ExpectedProperty // of place and queue: in name order

	MaxResources ExpectedQuantities // of limit
	Group        *string            // of limit: the group that the user counts for; empty: none

	Order      []string        // of work: queues in their order
	Priorities []QueuePriority // of work

	Settings []ExpectedSetting // of settings
}

// ExpectedSetting is the expected value of a setting of a partition, as PartitionSetting.Text writes it.
type ExpectedSetting struct {
	Setting configs.PartitionSetting
	Text    string
}

// QueuePriority is the expected current priority of a queue; Pending false: nothing is pending.
type QueuePriority struct {
	Queue    string
	Priority int32
	Pending  bool
}

// ExpectedProperty is the expected text of a property, inherited or not. A text of the same effect is as good.
type ExpectedProperty struct{ Name, Text string }

// ExpectedQuantities are the expected quantities of some resources, in name order. nil: not
// compared.
type ExpectedQuantities []ExpectedQuantity

// ExpectedQuantity is the expected quantity of one resource.
type ExpectedQuantity struct {
	Resource  string
	N         resources.Quantity
	Unlimited bool // the resource must not be limited
}

func (q ExpectedQuantity) String() string { return formatExpected(q.Resource, q.N, !q.Unlimited) }

func formatExpected(resource string, n resources.Quantity, limited bool) string {
	if !limited {
		return "unlimited"
	}
	return resources.FormatQuantity(resource, n)
}

// Question is a text for the question of the assertion.
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
	case a.Section != "":
		return a.Section + " of partition " + a.Partition
	}
	return "queue " + a.Queue
}

// Mistake is an error in a file of assertions, with its position.
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
