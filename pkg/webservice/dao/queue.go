package dao

import (
	"iter"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Queue is a queue, with the queues below it where an answer has them.
type Queue struct {
	QueueName             string                 `json:"queuename"`
	Status                string                 `json:"status,omitempty"`
	Partition             string                 `json:"partition"` // set in the top queue of an answer only
	PendingResource       Quantities             `json:"pendingResource,omitempty"`
	MaxResource           Quantities             `json:"maxResource,omitempty"`
	GuaranteedResource    Quantities             `json:"guaranteedResource,omitempty"`
	AllocatedResource     Quantities             `json:"allocatedResource,omitempty"`
	PreemptingResource    Quantities             `json:"preemptingResource,omitempty"`
	Headroom              Quantities             `json:"headroom,omitempty"`
	IsLeaf                bool                   `json:"isLeaf"`
	IsManaged             bool                   `json:"isManaged"`
	Properties            map[string]string      `json:"properties,omitempty"`
	Parent                string                 `json:"parent,omitempty"`
	Template              *Template              `json:"template,omitempty"`
	Children              List[Queue]            `json:"children,omitzero"`
	ChildNames            []string               `json:"childNames,omitempty"`
	AbsUsedCapacity       Quantities             `json:"absUsedCapacity,omitempty"` // percent
	MaxRunningApps        uint64                 `json:"maxRunningApps,omitempty"`
	RunningApps           uint64                 `json:"runningApps,omitempty"`
	CurrentPriority       int32                  `json:"currentPriority"`
	SortingPolicy         string                 `json:"sortingPolicy,omitempty"`
	PrioritySorting       bool                   `json:"prioritySorting"`
	PreemptionEnabled     bool                   `json:"preemptionEnabled"`
	IsPreemptionFence     bool                   `json:"isPreemptionFence"`
	PreemptionDelay       string                 `json:"preemptionDelay,omitempty"`
	QuotaPreemptionDelay  string                 `json:"quotaPreemptionDelay,omitempty"`
	IsPriorityFence       bool                   `json:"isPriorityFence"`
	PriorityOffset        int32                  `json:"priorityOffset,omitempty"`
	RemainingApplications []RemainingApplication `json:"remainingApplications,omitempty"`
	QuotaViolation        *QuotaViolation        `json:"quotaViolation,omitempty"`
	ClassQuotas           []ClassQuota           `json:"classQuotas,omitempty"` // ours
	// ours: of applications, that set quotas of a dynamic leaf
	QuotaTags []string `json:"quotaTags,omitempty"`
	// ours: what maxResource follows from, as it is written, where that is a percent
	ConfiguredMax map[string]string `json:"configuredMax,omitempty"`
	// ours: likewise for guaranteedResource, also where that was scaled down
	ConfiguredGuaranteed map[string]string `json:"configuredGuaranteed,omitempty"`
	// ours: guaranteedResource was scaled down, because percents and what is guaranteed beside them are more than there is
	GuaranteeReduced bool `json:"guaranteeReduced,omitempty"`
	// ours: the queue above orders by it
	UsageOverTime *UsageOverTime `json:"usageOverTime,omitempty"`
}

// RemainingApplication is ours: an application for which a draining leaf queue is kept.
type RemainingApplication struct {
	ApplicationID    string `json:"applicationID"`
	ApplicationState string `json:"applicationState"`
	User             string `json:"user,omitempty"`
}

// QuotaViolation is ours: the queue is above its enforced max. Allocations that are preempted
// already are not counted.
type QuotaViolation struct {
	Excess         Quantities `json:"excess"`
	Since          int64      `json:"since"`                    // nanoseconds
	EnforcedFrom   int64      `json:"enforcedFrom"`             // from when allocations may be preempted for it
	LastEvaluation int64      `json:"lastEvaluation,omitempty"` // the last evaluation that could not preempt enough
}

// Template is the template of the queues below a queue.
type Template struct {
	MaxApplications    uint64            `json:"maxApplications,omitempty"`
	MaxResource        Quantities        `json:"maxResource,omitempty"`
	GuaranteedResource Quantities        `json:"guaranteedResource,omitempty"`
	Properties         map[string]string `json:"properties,omitempty"`
	// ours: of maxResource, by resource: where it is a percent, such as 40%
	MaxPercents map[string]string `json:"maxPercents,omitempty"`
	// ours: likewise of guaranteedResource
	GuaranteedPercents map[string]string `json:"guaranteedPercents,omitempty"`
}

// NewQueue shows q at a time without the queues below it, and without what it counts of these.
func NewQueue(q *scheduler.QueueView, headroom resources.Limit, at time.Time) Queue {
	v := Queue{
		QueueName:          string(q.Path),
		Status:             "Active",
		PendingResource:    QuantitiesOf(q.Pending.All()),
		MaxResource:        QuantitiesOf(q.Max.All()),
		GuaranteedResource: QuantitiesOf(q.Guaranteed.All()),
		AllocatedResource:  QuantitiesOf(q.Allocated.All()),
		PreemptingResource: QuantitiesOf(q.Preempting.All()),
		Headroom:           QuantitiesOf(headroom.All()),
		IsLeaf:             q.Leaf,
		IsManaged:          q.Managed,
		Parent:             parentOf(string(q.Path)),
		Template:           viewTemplate(q.Template),
		AbsUsedCapacity:    Percentages(q.Allocated, q.Max.All()),
		MaxRunningApps:     q.MaxApplications,
		CurrentPriority:    q.Priority.Number(),
		SortingPolicy:      policies.Fair.String(), // parent queues are always sorted by fair share (QUE-8)
	}
	switch {
	case q.Draining, q.Drained:
		v.Status = "Draining"
	case q.Stopped:
		v.Status = "Stopped"
	}
	if q.Leaf {
		v.SortingPolicy = q.Settings.AppSort.String()
	}
	v.ClassQuotas, v.QuotaTags = NewClassQuotas(q), q.QuotaTags.Names()
	v.ConfiguredMax = percentTexts(q.WrittenMax.Percents())
	v.ConfiguredGuaranteed = percentTexts(q.WrittenGuarantee.Percents())
	v.GuaranteeReduced, v.UsageOverTime = q.Reduced, NewUsageOverTime(q.UsageOverTime, at)
	for name, n := range q.WrittenGuarantee.All() {
		if inForce, _ := q.Guaranteed.Get(name); inForce != n {
			v.ConfiguredGuaranteed = withText(v.ConfiguredGuaranteed, name, resources.FormatQuantity(name, n))
		}
	}
	v.setSettings(q.Settings)
	if a := q.AboveMax; a != nil {
		v.QuotaViolation = &QuotaViolation{QuantitiesOf(a.Excess.All()), Nanos(a.Since), Nanos(a.Due), Nanos(a.Evaluated)}
	}
	for a := range q.Applications.All() {
		if !q.Draining && !q.Drained {
			break
		}
		v.RemainingApplications = append(v.RemainingApplications,
			RemainingApplication{string(a.ID), a.State.String(), a.User.Name})
	}
	return v
}

func (v *Queue) setSettings(s configs.Settings) {
	v.Properties = s.Properties
	v.PrioritySorting = s.PrioritySort == policies.PriorityFirst
	v.IsPriorityFence = s.PriorityPolicy == policies.PriorityFence
	v.PriorityOffset = s.PriorityOffset
	v.PreemptionEnabled = s.PreemptionPolicy != policies.PreemptDisabled
	v.IsPreemptionFence = s.PreemptionPolicy == policies.PreemptFence
	v.PreemptionDelay = s.PreemptionDelay.String()
	v.QuotaPreemptionDelay = s.QuotaPreemptionDelay.String() // 0s: a lowered max is not enforced
}

func viewTemplate(t *configs.ChildTemplate) *Template {
	if t == nil {
		return nil
	}
	return &Template{
		MaxApplications:    t.MaxApplications,
		MaxResource:        QuantitiesOf(t.Max.All()),
		GuaranteedResource: QuantitiesOf(t.Guaranteed.All()),
		Properties:         t.Settings.Properties,
		MaxPercents:        percentTexts(t.Max.Percents()),
		GuaranteedPercents: percentTexts(t.Guaranteed.Percents()),
	}
}

// percentTexts returns percents as they are written; nil: there are none.
func percentTexts(all iter.Seq2[string, resources.Percent]) (texts map[string]string) {
	for name, p := range all {
		texts = withText(texts, name, p.String())
	}
	return texts
}

func withText(texts map[string]string, name, text string) map[string]string {
	if texts == nil {
		texts = map[string]string{}
	}
	texts[name] = text
	return texts
}

// parentOf is the path of the parent queue; empty for root.
func parentOf(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '.'))]
}
