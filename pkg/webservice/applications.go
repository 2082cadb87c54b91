package webservice

import (
	"net/http"
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// applications lists the applications of one queue. A parent has none.
func (s *service) applications(r *http.Request) (any, error) {
	path, err := queuePath(r)
	if err != nil {
		return nil, err
	}
	snap, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	q, err := findQueue(&snap.Root, path)
	if err != nil {
		return nil, err
	}
	out := []applicationBody{}
	for i := range q.Applications {
		v := viewApplication(&q.Applications[i])
		v.Partition, v.QueueName = snap.Partition, string(q.Path)
		out = append(out, v)
	}
	return out, nil
}

func viewApplication(a *scheduler.ApplicationView) applicationBody {
	v := applicationBody{
		ApplicationID:      string(a.ID),
		UsedResource:       quantitiesOf(a.Allocated.All()),
		PendingResource:    quantitiesOf(a.Pending.All()),
		SubmissionTime:     nanos(a.Submitted),
		ApplicationState:   a.State.String(),
		User:               a.User.Name,
		Groups:             a.User.Groups,
		MaxRequestPriority: a.Priority.Number(),
	}
	for _, change := range a.StateLog {
		v.StateLog = append(v.StateLog, stateBody{Time: nanos(change.At), ApplicationState: change.State.String()})
		if change.State == objects.Running {
			v.StartTime = change.At.UnixMilli()
		}
	}
	for i := range a.Work {
		if w := &a.Work[i]; w.Node == "" {
			v.Requests = append(v.Requests, viewAsk(w))
		} else {
			v.Allocations = append(v.Allocations, viewAllocation(w))
		}
	}
	return v
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
	}
}

func priorityText(w *scheduler.WorkView) string { return strconv.Itoa(int(w.Ask.Priority)) }
