package webservice

import (
	"net/http"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// queues is the whole queue tree.
func (s *service) queues(r *http.Request) (any, error) {
	snap, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	root := viewQueue(snap.Root, resources.Limit{})
	root.Partition = snap.Partition
	return root, nil
}

// viewQueue shows q and what is below it. above is the headroom of its parent.
func viewQueue(q *scheduler.QueueView, above resources.Limit) queueBody {
	headroom := q.HeadroomBelow(above)
	v := queueBody{
		QueueName:          string(q.Path),
		Status:             "Active",
		PendingResource:    quantitiesOf(q.Pending.All()),
		MaxResource:        quantitiesOf(q.Max.All()),
		GuaranteedResource: quantitiesOf(q.Guaranteed.All()),
		AllocatedResource:  quantitiesOf(q.Allocated.All()),
		Headroom:           quantitiesOf(headroom.All()),
		IsLeaf:             q.Leaf,
		IsManaged:          q.Managed,
		Parent:             parentOf(string(q.Path)),
		Template:           viewTemplate(q.Template),
		AbsUsedCapacity:    percentages(q.Allocated, q.Max.All()),
		MaxRunningApps:     q.MaxApplications,
		CurrentPriority:    q.Priority.Number(),
		SortingPolicy:      policies.Fair.String(), // parents always share (behaviour.md 2.1)
	}
	if q.Draining {
		v.Status = "Draining"
	}
	if q.Leaf {
		v.SortingPolicy = q.Settings.Sort.String()
	}
	v.ClassQuotas = viewClassQuotas(q)
	v.show(q.Settings)
	if a := q.AboveMax; a != nil {
		v.AboveMax = &aboveMaxBody{quantitiesOf(a.By.All()), nanos(a.Since), nanos(a.Due), nanos(a.Looked)}
	}
	for a := range q.Applications.All() {
		if a.State == objects.Running {
			v.RunningApps++
		}
		if q.Draining {
			v.WaitsFor = append(v.WaitsFor, waitsForBody{string(a.ID), a.State.String(), a.User.Name})
		}
	}
	for child := range q.Children.All() {
		child := viewQueue(child, headroom)
		v.RunningApps += child.RunningApps
		v.Children = append(v.Children, child)
		v.ChildNames = append(v.ChildNames, child.QueueName)
	}
	return v
}

func (v *queueBody) show(s configs.Settings) {
	v.Properties = s.Properties
	v.PrioritySorting = s.PrioritySort == policies.PriorityFirst
	v.IsPriorityFence = s.Priority == policies.PriorityFence
	v.PriorityOffset = s.Offset
	v.PreemptionEnabled = s.Preemption != policies.PreemptDisabled
	v.IsPreemptionFence = s.Preemption == policies.PreemptFence
	v.PreemptionDelay = s.PreemptionDelay.String()
	if s.QuotaDelay > 0 {
		v.QuotaPreemptionWait = s.QuotaDelay.String()
	}
}

func viewTemplate(t *configs.Template) *templateBody {
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

// parentOf is the path above, empty for root.
func parentOf(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '.'))]
}
