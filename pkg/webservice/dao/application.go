package dao

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Application is an active application, or what is kept of one that has ended.
type Application struct {
	ApplicationID      string           `json:"applicationID"`
	UsedResource       Quantities       `json:"usedResource,omitempty"`
	MaxUsedResource    Quantities       `json:"maxUsedResource,omitempty"` // the highest usage at any time
	PendingResource    Quantities       `json:"pendingResource,omitempty"`
	Partition          string           `json:"partition"`
	QueueName          string           `json:"queueName"`
	SubmissionTime     int64            `json:"submissionTime,omitempty"`
	FinishedTime       int64            `json:"finishedTime,omitempty"`
	Requests           List[Ask]        `json:"requests,omitzero"`    // the pending asks
	Allocations        List[Allocation] `json:"allocations,omitzero"` // what it has
	ApplicationState   string           `json:"applicationState,omitempty"`
	User               string           `json:"user,omitempty"`
	Groups             []string         `json:"groups,omitempty"`
	RejectedMessage    string           `json:"rejectedMessage,omitempty"`
	StateLog           []State          `json:"stateLog,omitempty"`
	MaxRequestPriority int32            `json:"maxRequestPriority,omitempty"`
	RaisedBy           int32            `json:"raisedBy,omitempty"` // above that, in selection order, while it waits
	UsageOverTime      *UsageOverTime   `json:"usageOverTime,omitempty"`
	StartTime          int64            `json:"startTime,omitempty"` // milliseconds
	ResourceHistory    UsageHistory     `json:"resourceHistory"`
	PlaceholderData    []TaskGroup      `json:"placeholderData,omitempty"`
	OnHold             bool             `json:"onHold,omitempty"` // by an operator
	// the queue that it was in before an operator moved it
	MovedFrom    string   `json:"movedFrom,omitempty"`
	HasReserved  bool     `json:"hasReserved,omitempty"`
	Reservations []string `json:"reservations,omitempty"` // keys of asks, the oldest reservation first
}

// TaskGroup counts the placeholders of one task group (GAN-15).
type TaskGroup struct {
	TaskGroupName string     `json:"taskGroupName"`
	Count         int        `json:"count"`
	MinResource   Quantities `json:"minResource"` // of its first placeholder
	Replaced      int        `json:"replaced"`
	TimedOut      int        `json:"timedout"`
}

// UsageHistory is the usage of allocations that have ended, by instance type: quantities times seconds.
type UsageHistory struct {
	ResourceUsage       map[string]Quantities `json:"resourceUsage,omitempty"`
	PreemptedResource   map[string]Quantities `json:"preemptedResource,omitempty"`
	PlaceholderResource map[string]Quantities `json:"placeholderResource,omitempty"`
}

// State is a state that an application entered.
type State struct {
	Time             int64  `json:"time"`
	ApplicationState string `json:"applicationState"`
	Reason           string `json:"reason"` // ours: why the state was entered
}

// NewApplication shows an application of a queue at a time. refusals returns those of the resource manager for an ask;
// nil: they are not shown.
func NewApplication(partition string, at time.Time, queue objects.QueuePath, a *scheduler.ApplicationView,
	refusals func(objects.AllocationKey) []AskLog) Application {
	v := Application{
		ApplicationID:      string(a.ID),
		Partition:          partition,
		QueueName:          string(queue),
		UsedResource:       QuantitiesOf(a.Allocated.All()),
		MaxUsedResource:    QuantitiesOf(a.Peak.All()),
		RaisedBy:           a.Raised,
		PendingResource:    QuantitiesOf(a.Pending.All()),
		SubmissionTime:     Nanos(a.Submitted),
		ApplicationState:   a.State.String(),
		User:               a.User.Name,
		Groups:             a.User.Groups,
		MaxRequestPriority: a.Priority.Number(),
		UsageOverTime:      NewUsageOverTime(a.UsageOverTime, at),
	}
	v.setStateLog(a.StateLog)
	v.ResourceHistory = viewUsageHistory(a.UsageHistory)
	v.setPlaceholderData(a.Gang)
	v.Reservations = keyTexts(a.Reservations)
	v.OnHold = a.OnHold
	if a.Moved != nil {
		v.MovedFrom = string(a.Moved.From)
	}
	v.HasReserved = len(v.Reservations) > 0
	v.Requests = listOf(a.Allocations, true, func(w *scheduler.AllocationView) Ask {
		if refusals == nil {
			return NewAsk(w, nil)
		}
		return NewAsk(w, refusals(w.Ask.Key))
	})
	v.Allocations = listOf(a.Allocations, false, NewAllocation)
	return v
}

// keyTexts are keys as texts; nil: there are none.
func keyTexts(keys []objects.AllocationKey) (texts []string) {
	for _, key := range keys {
		texts = append(texts, string(key))
	}
	return texts
}

// setStateLog sets the states that were entered, and the start: when Running was first entered. An
// application that never ran has no start; YuniKorn shows the year 1 (APP-46).
func (v *Application) setStateLog(changes []lifecycle.Change) {
	for _, c := range changes {
		v.StateLog = append(v.StateLog,
			State{Time: Nanos(c.At()), ApplicationState: c.State.String(), Reason: c.Reason.String()})
		if c.State == lifecycle.Running && v.StartTime == 0 {
			v.StartTime = c.At().UnixMilli()
		}
	}
}

func viewUsageHistory(u *lifecycle.Usage) (v UsageHistory) {
	if u == nil {
		return v
	}
	byType := func(list []lifecycle.TypeUsage) map[string]Quantities {
		m := map[string]Quantities{}
		for _, x := range list {
			m[x.InstanceType] = QuantitiesOf(x.Usage.All())
		}
		return m
	}
	return UsageHistory{byType(u.Real), byType(u.Preempted), byType(u.Placeholders)}
}

// NewEndedApplication has what is kept of an application that has ended.
func NewEndedApplication(partition string, e *lifecycle.Ended) Application {
	v := Application{
		ApplicationID:      string(e.ID),
		Partition:          partition,
		QueueName:          string(e.Queue),
		MaxUsedResource:    QuantitiesOf(e.Peak.All()),
		SubmissionTime:     Nanos(e.Submitted),
		FinishedTime:       Nanos(e.Finished),
		ApplicationState:   e.State.String(),
		User:               e.User.Name,
		Groups:             e.User.Groups,
		RejectedMessage:    e.Message(),
		MaxRequestPriority: policies.CurrentPriority{}.Number(),
	}
	v.setStateLog(e.Log)
	v.ResourceHistory = viewUsageHistory(e.Usage)
	v.setPlaceholderData(e.Gang())
	return v
}

func (v *Application) setPlaceholderData(groups []gangs.TaskGroup) {
	for _, t := range groups {
		v.PlaceholderData = append(v.PlaceholderData,
			TaskGroup{t.Name, t.Count, QuantitiesOf(t.MinResources.All()), t.Replaced, t.TimedOut})
	}
}
