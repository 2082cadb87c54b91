package webservice

import (
	"context"
	"net/http"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// queues shows the whole queue tree.
func (s *service) queues(r *http.Request) (any, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	tree, err := s.queueTrees.get(r.Context(), &s.snapshots, l, func(_ context.Context, snap *scheduler.Snapshot, last *queueTree) (*queueTree, bool, error) {
		next := encodeTree(snap, last)
		return next, s.cacheBudget.replace(next.bytes(), last.bytes()), nil
	})
	if err != nil {
		return nil, err
	}
	return tree.pieces(), nil
}

// viewQueue shows q without the queues below it.
func viewQueue(q *scheduler.QueueView, headroom resources.Limit) queueBody {
	v := queueBody{
		QueueName:          string(q.Path),
		Status:             "Active",
		PendingResource:    quantitiesOf(q.Pending.All()),
		MaxResource:        quantitiesOf(q.Max.All()),
		GuaranteedResource: quantitiesOf(q.Guaranteed.All()),
		AllocatedResource:  quantitiesOf(q.Allocated.All()),
		PreemptingResource: quantitiesOf(q.Preempting.All()),
		Headroom:           quantitiesOf(headroom.All()),
		IsLeaf:             q.Leaf,
		IsManaged:          q.Managed,
		Parent:             parentOf(string(q.Path)),
		Template:           viewTemplate(q.Template),
		AbsUsedCapacity:    percentages(q.Allocated, q.Max.All()),
		MaxRunningApps:     q.MaxApplications,
		CurrentPriority:    q.Priority.Number(),
		SortingPolicy:      policies.Fair.String(), // parent queues are always sorted by fair share (QUE-8)
	}
	if q.Draining {
		v.Status = "Draining"
	}
	if q.Leaf {
		v.SortingPolicy = q.Settings.AppSort.String()
	}
	v.ClassQuotas = viewClassQuotas(q)
	v.setSettings(q.Settings)
	if a := q.AboveMax; a != nil {
		v.QuotaViolation = &quotaViolationBody{quantitiesOf(a.Excess.All()), nanos(a.Since), nanos(a.Due), nanos(a.Evaluated)}
	}
	for a := range q.Applications.All() {
		if a.State == lifecycle.Running {
			v.RunningApps++
		}
		if q.Draining {
			v.RemainingApplications = append(v.RemainingApplications, remainingApplicationBody{string(a.ID), a.State.String(), a.User.Name})
		}
	}
	return v
}

// addChild adds the name and the running applications of a child.
func (v *queueBody) addChild(name string, running uint64) {
	v.RunningApps += running
	v.ChildNames = append(v.ChildNames, name)
}

func (v *queueBody) setSettings(s configs.Settings) {
	v.Properties = s.Properties
	v.PrioritySorting = s.PrioritySort == policies.PriorityFirst
	v.IsPriorityFence = s.PriorityPolicy == policies.PriorityFence
	v.PriorityOffset = s.PriorityOffset
	v.PreemptionEnabled = s.PreemptionPolicy != policies.PreemptDisabled
	v.IsPreemptionFence = s.PreemptionPolicy == policies.PreemptFence
	v.PreemptionDelay = s.PreemptionDelay.String()
	v.QuotaPreemptionDelay = s.QuotaPreemptionDelay.String() // 0s: a lowered max is not enforced
}

func viewTemplate(t *configs.ChildTemplate) *templateBody {
	if t == nil {
		return nil
	}
	return &templateBody{
		MaxApplications:    t.MaxApplications,
		MaxResource:        quantitiesOf(t.Max.All()),
		GuaranteedResource: quantitiesOf(t.Guaranteed.All()),
		Properties:         t.Settings.Properties,
	}
}

// parentOf is the path of the parent queue; empty for root.
func parentOf(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '.'))]
}
