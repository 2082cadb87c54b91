package webservice

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// applications lists the applications of one queue. A parent has none.
func (s *service) applications(r *http.Request) (any, error) {
	snap, q, err := s.queue(r)
	if err != nil {
		return nil, err
	}
	return listApplications([]applicationBody{}, snap.Partition, q, ""), nil
}

// queue is the queue that the path of the request names, root without one.
func (s *service) queue(r *http.Request) (*scheduler.Snapshot, *scheduler.QueueView, error) {
	path := string(objects.RootPath)
	if r.PathValue("queue") != "" {
		var err error
		if path, err = queuePath(r); err != nil {
			return nil, nil, err
		}
	}
	snap, err := s.snapshot(r)
	if err != nil {
		return nil, nil, err
	}
	q, err := findQueue(snap.Root, path)
	return snap, q, err
}

// listApplications adds what is in q, of one state or, with an empty one, of any.
func listApplications(to []applicationBody, partition string, q *scheduler.QueueView, state string) []applicationBody {
	for a := range q.Applications.All() {
		if state == "" || strings.EqualFold(a.State.String(), state) {
			v := viewApplication(a)
			v.Partition, v.QueueName = partition, string(q.Path)
			to = append(to, v)
		}
	}
	return to
}

func viewApplication(a *scheduler.ApplicationView) applicationBody {
	v := applicationBody{
		ApplicationID:      string(a.ID),
		UsedResource:       quantitiesOf(a.Allocated.All()),
		MaxUsedResource:    quantitiesOf(a.Peak.All()),
		PendingResource:    quantitiesOf(a.Pending.All()),
		SubmissionTime:     nanos(a.Submitted),
		ApplicationState:   a.State.String(),
		User:               a.User.Name,
		Groups:             a.User.Groups,
		MaxRequestPriority: a.Priority.Number(),
	}
	v.log(a.StateLog)
	for w := range a.Work.All() {
		if w.Node == "" {
			v.Requests = append(v.Requests, viewAsk(w))
		} else {
			v.Allocations = append(v.Allocations, viewAllocation(w))
		}
	}
	return v
}

// log shows which states were entered, and takes the first time it ran from them. One that
// never ran has no start; upstream shows the year 1 (behaviour.md 13.3.19).
func (v *applicationBody) log(changes []objects.StateChange) {
	for _, c := range changes {
		v.StateLog = append(v.StateLog, stateBody{Time: nanos(c.At()), ApplicationState: c.State.String(), Reason: c.Why.String()})
		if c.State == objects.Running && v.StartTime == 0 {
			v.StartTime = c.At().UnixMilli()
		}
	}
}

func viewAsk(w *scheduler.WorkView) askBody {
	return askBody{
		AllocationKey:  string(w.Ask.Key),
		AllocationTags: w.Ask.Tags,
		RequestTime:    nanos(w.Created),
		Resource:       quantitiesOf(w.Ask.Amounts.All()),
		Priority:       priorityText(w),
		RequiredNodeID: string(w.Ask.RequiredNode),
		ApplicationID:  string(w.Ask.App),
		Placeholder:    w.Ask.Placeholder,
		TaskGroupName:  w.Ask.TaskGroup,
		Originator:     w.Ask.Originator,
		NominatedNode:  string(w.Nominated),
		PriorityClass:  w.Class,
	}
}

// viewAllocation shows when the ask was made and when it got its node. Upstream shows
// the same time twice and so a delay of zero.
func viewAllocation(w *scheduler.WorkView) allocationBody {
	return allocationBody{
		AllocationKey:   string(w.Ask.Key),
		AllocationTags:  w.Ask.Tags,
		RequestTime:     nanos(w.Created),
		AllocationTime:  nanos(w.BoundAt),
		AllocationDelay: max(0, w.BoundAt.Sub(w.Created).Nanoseconds()),
		Resource:        quantitiesOf(w.Ask.Amounts.All()),
		Priority:        priorityText(w),
		NodeID:          string(w.Node),
		ApplicationID:   string(w.Ask.App),
		Placeholder:     w.Ask.Placeholder,
		TaskGroupName:   w.Ask.TaskGroup,
		Originator:      w.Ask.Originator,
		Preempted:       w.Leaving,
		PriorityClass:   w.Class,
	}
}

func priorityText(w *scheduler.WorkView) string { return strconv.Itoa(int(w.Ask.Priority)) }
