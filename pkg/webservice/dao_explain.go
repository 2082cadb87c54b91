package webservice

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// What GET .../ask/{key}/explain answers, for clients written in Go.
type (
	Explanation  = explanationBody
	Availability = availabilityBody
	Room         = roomBody
)

// explanationBody says how a key stands. Quantities are in base units.
type explanationBody struct {
	Time           int64      `json:"time"`
	Partition      string     `json:"partition"`
	AllocationKey  string     `json:"allocationKey"`
	State          string     `json:"state"`   // pending, allocated, preempting or foreign
	Message        string     `json:"message"` // all of it in one sentence
	ApplicationID  string     `json:"applicationID,omitempty"`
	User           string     `json:"user,omitempty"`
	Groups         []string   `json:"groups,omitempty"`
	QueueName      string     `json:"queueName,omitempty"`
	Priority       int32      `json:"priority"`
	Placeholder    bool       `json:"placeholder,omitempty"`
	RequiredNodeID string     `json:"requiredNodeId,omitempty"`
	Resource       quantities `json:"resource"`
	Since          int64      `json:"since,omitempty"`  // of the state
	NodeID         string     `json:"nodeID,omitempty"` // that it has, or waits for

	// What follows is there for a pending ask only.

	Verdict   *verdictBody       `json:"verdict,omitempty"`
	Resources []availabilityBody `json:"resources,omitempty"` // that it asks for, by name
	Nodes     *nodeCountsBody    `json:"nodes,omitempty"`
}

// verdictBody is what stands in the way of an ask.
type verdictBody struct {
	Code    string         `json:"code"` // see docs/EXPLAIN.md
	Where   string         `json:"where,omitempty"`
	Never   bool           `json:"never"`             // nothing that ends can help
	Listens bool           `json:"listening"`         // the resource manager hears what is decided; if not, nothing is
	Preempt bool           `json:"mayPreempt"`        // the ask has a right to preempt, or will when a delay ends
	Short   []shortageBody `json:"short,omitempty"`   // the resources that it is about
	Running int            `json:"running,omitempty"` // applications, if it is about their number
	MayRun  uint64         `json:"mayRun,omitempty"`  // how many may
	Leaving int            `json:"leaving,omitempty"` // allocations on nodeID that were told to end
}

type shortageBody struct {
	Resource string `json:"resource"`
	Asked    int64  `json:"asked"`
	Free     int64  `json:"free"`
	Max      int64  `json:"max"`
}

type availabilityBody struct {
	Resource       string    `json:"resource"`
	Asked          int64     `json:"asked"`
	Queue          *roomBody `json:"queue,omitempty"` // that leaves the least; missing: no queue below root has a max
	Limit          *roomBody `json:"limit,omitempty"` // of the user or the group; missing: none
	Cluster        *roomBody `json:"cluster"`
	MostFreeOnNode int64     `json:"mostFreeOnNode"`
	LargestNode    int64     `json:"largestNode"`
}

type roomBody struct {
	Free int64  `json:"free"`
	Max  int64  `json:"max"`
	Of   string `json:"of"`
}

type nodeCountsBody struct {
	Total         int `json:"total"`
	NotRequired   int `json:"notRequired"`
	Unschedulable int `json:"unschedulable"`
	TooSmall      int `json:"tooSmall"`
	TooFull       int `json:"tooFull"`
	WithRoom      int `json:"withRoom"`
}

// unknownKeyBody is the 404 of a key that stands for nothing now.
type unknownKeyBody struct {
	errorBody
	AllocationKey string `json:"allocationKey"`
	State         string `json:"state"` // unknown, or as far as history remembers: released, cancelled or rejected
	ApplicationID string `json:"applicationID,omitempty"`
	Since         int64  `json:"since,omitempty"`
}

// NewExplanation is what GET .../ask/{key}/explain answers with e. It is for a program that has
// the scheduler in its own process.
func NewExplanation(e *scheduler.Explanation) *Explanation { return viewExplanation(e) }

func viewExplanation(e *scheduler.Explanation) *explanationBody {
	body := &explanationBody{
		Time: nanos(e.At), Partition: e.Partition, AllocationKey: string(e.Key), State: e.State.String(), Message: e.String(),
		ApplicationID: string(e.App), User: e.User.Name, Groups: e.User.Groups, QueueName: string(e.Queue), Priority: e.Priority,
		Placeholder: e.Placeholder, RequiredNodeID: string(e.RequiredNode), Resource: amountsOf(e.Asked), Since: nanos(e.Since), NodeID: string(e.Node),
	}
	if e.State != scheduler.KeyPending {
		return body
	}
	v := &verdictBody{
		Code: e.Verdict.Obstacle.Code(), Where: e.Verdict.Where, Never: e.Never, Listens: e.Listening, Preempt: e.Preempts, Running: e.Running, MayRun: e.MayRun, Leaving: e.Leaving,
	}
	for _, s := range e.Short {
		v.Short = append(v.Short, shortageBody{s.Resource, int64(s.Asked), int64(s.Free), int64(s.Most)})
	}
	body.Verdict = v
	for _, r := range e.Resources {
		body.Resources = append(body.Resources, availabilityBody{
			r.Resource, int64(r.Asked), viewRoom(r.Queue), viewRoom(r.Limit), viewRoom(r.Cluster), int64(r.MostFreeOnNode), int64(r.LargestNode),
		})
	}
	n := nodeCountsBody(e.Nodes)
	body.Nodes = &n
	return body
}

func viewRoom(r scheduler.Room) *roomBody {
	if r.Of == "" {
		return nil
	}
	return &roomBody{int64(r.Free), int64(r.Most), r.Of}
}

// Text writes a quantity of a resource as people do.
func (r *Availability) Text(n int64) string { return resources.Text(r.Resource, resources.Quantity(n)) }

func clockText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
