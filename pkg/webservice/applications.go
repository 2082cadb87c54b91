package webservice

import (
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// applications lists the applications of one queue. A parent queue has none.
func (s *service) applications(r *http.Request) (any, error) {
	snap, q, err := s.queue(r)
	if err != nil {
		return nil, err
	}
	return listApplications(snap, q, "", false), nil
}

// queue returns the queue in the path of the request; root if the path has none.
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

// listApplications is the JSON list of the applications of q in one state, in any if state is
// empty. recursive: and of the queues below q.
func listApplications(snap *scheduler.Snapshot, q *scheduler.QueueView, state string, recursive bool) pieces {
	return func(yield func([]byte) bool) {
		e, before := newEncoder(), []byte("[")
		more := eachApplication(q, recursive, func(a *scheduler.ApplicationView, path string) bool {
			if state != "" && !strings.EqualFold(a.State.String(), state) {
				return true
			}
			if !yield(before) {
				return false
			}
			before = []byte(",")
			all, _ := applicationPieces(e, snap.Partition, path, a)
			for piece := range all {
				if !yield(piece) {
					return false
				}
			}
			return true
		})
		if !more || before[0] == '[' && !yield(before) {
			return
		}
		yield([]byte("]"))
	}
}

// eachApplication calls do for the applications of q and, if recursive, of the queues below it,
// with the paths of their queues, until do returns false. It reports whether do never did.
func eachApplication(q *scheduler.QueueView, recursive bool, do func(a *scheduler.ApplicationView, path string) bool) bool {
	for a := range q.Applications.All() {
		if !do(a, string(q.Path)) {
			return false
		}
	}
	if recursive {
		for child := range q.Children.All() {
			if !eachApplication(child, true, do) {
				return false
			}
		}
	}
	return true
}

// activeApplicationList is the list of all active applications.
var activeApplicationList = &listSource{
	each: func(snap *scheduler.Snapshot, yield func(view any, where string) bool) {
		eachApplication(snap.Root, true, func(a *scheduler.ApplicationView, path string) bool { return yield(a, path) })
	},
	pieces: func(e *encoder, snap *scheduler.Snapshot, view any, where string) (pieces, bool) {
		a, _ := view.(*scheduler.ApplicationView)
		return applicationPieces(e, snap.Partition, where, a)
	},
}

var zeroAsk = newEncoder().piece(askBody{})

// applicationPieces is the JSON of an application; streamed: it is encoded ask by ask.
func applicationPieces(e *encoder, partition, queue string, a *scheduler.ApplicationView) (all pieces, streamed bool) {
	if a.Allocations.Len() <= longListLength {
		return func(yield func([]byte) bool) {
			v := viewApplication(a)
			v.Partition, v.QueueName = partition, queue
			yield(e.piece(v))
		}, false
	}
	without := *a
	without.Allocations = persistent.List[scheduler.AllocationView]{}
	v := viewApplication(&without)
	v.Partition, v.QueueName = partition, queue
	for w := range a.Allocations.All() { // which of the lists are not empty
		if w.Node == "" && v.Requests == nil {
			v.Requests = []askBody{{}}
		} else if w.Node != "" && v.Allocations == nil {
			v.Allocations = []allocationBody{{}}
		}
	}
	// The JSON of both zero elements is the same.
	return spliceLists(e, v, zeroAsk, []string{"requests", "allocations"}, func(field string) iter.Seq[any] {
		return func(yield func(any) bool) {
			for w := range a.Allocations.All() {
				switch pending := w.Node == ""; {
				case pending != (field == "requests"):
				case pending && !yield(viewAsk(w)), !pending && !yield(viewAllocation(w)):
					return
				}
			}
		}
	}), true
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
	v.setStateLog(a.StateLog)
	v.ResourceHistory = viewUsageHistory(a.UsageHistory)
	for w := range a.Allocations.All() {
		if w.Node == "" {
			v.Requests = append(v.Requests, viewAsk(w))
		} else {
			v.Allocations = append(v.Allocations, viewAllocation(w))
		}
	}
	return v
}

// setStateLog sets the states that were entered, and the start: when Running was first entered. An
// application that never ran has no start; YuniKorn shows the year 1 (APP-46).
func (v *applicationBody) setStateLog(changes []objects.StateChange) {
	for _, c := range changes {
		v.StateLog = append(v.StateLog, stateBody{Time: nanos(c.At()), ApplicationState: c.State.String(), Reason: c.Reason.String()})
		if c.State == objects.Running && v.StartTime == 0 {
			v.StartTime = c.At().UnixMilli()
		}
	}
}

func viewAsk(w *scheduler.AllocationView) askBody {
	return askBody{
		AllocationKey:       string(w.Ask.Key),
		AllocationTags:      w.Ask.Tags,
		RequestTime:         nanos(w.Created),
		Resource:            quantitiesOf(w.Ask.Amounts.All()),
		Priority:            priorityText(w),
		RequiredNodeID:      string(w.Ask.RequiredNode),
		ApplicationID:       string(w.Ask.App),
		Placeholder:         w.Ask.Placeholder,
		TaskGroupName:       w.Ask.TaskGroup,
		Originator:          w.Ask.Originator,
		TriggeredPreemption: w.Nominated != "",
		NominatedNode:       string(w.Nominated),
		PriorityClass:       w.PriorityClass,
	}
}

func viewUsageHistory(u *objects.UsageHistory) (v usageHistoryBody) {
	if u == nil {
		return v
	}
	byType := func(list []objects.TypeUsage) map[string]quantities {
		m := map[string]quantities{}
		for _, x := range list {
			m[x.InstanceType] = quantitiesOf(x.Usage.All())
		}
		return m
	}
	return usageHistoryBody{byType(u.Real), byType(u.Preempted), byType(u.Placeholders)}
}

// viewAllocation has the time of the ask, the time of the bind, and the scheduling delay between
// them in this process. YuniKorn has the first time twice, and so a delay of zero (docs/YUNIKORN.md).
func viewAllocation(w *scheduler.AllocationView) allocationBody {
	return allocationBody{
		AllocationKey:   string(w.Ask.Key),
		AllocationTags:  w.Ask.Tags,
		RequestTime:     nanos(w.Created),
		AllocationTime:  nanos(w.BoundAt),
		AllocationDelay: w.SchedulingDelay.Nanoseconds(),
		Resource:        quantitiesOf(w.Ask.Amounts.All()),
		Priority:        priorityText(w),
		NodeID:          string(w.Node),
		ApplicationID:   string(w.Ask.App),
		Placeholder:     w.Ask.Placeholder,
		TaskGroupName:   w.Ask.TaskGroup,
		Originator:      w.Ask.Originator,
		Preempted:       w.Preempting,
		PriorityClass:   w.PriorityClass,
	}
}

func priorityText(w *scheduler.AllocationView) string { return strconv.Itoa(int(w.Ask.Priority)) }
