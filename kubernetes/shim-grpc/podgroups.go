package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// gang has what a session knows of a pod group whose pods start together.
type gang struct {
	uid         types.UID  // of the group: one that is created again, perhaps with another policy, is another one
	application string     // its application: one for each minCount, as long as it has not started
	started     bool       // a pod was placed
	calling     bool       // a change of its status is on its way
	written     *condition // that was written and the informer does not know yet; nil: none
}

// gangName is the only task group of the application of a pod group. gangPatience is how long a group waits, in
// milliseconds: 10 years, where the scheduler's default is 15 minutes; Kubernetes has no end of it. groupScheduled is
// the reason of PodGroupInitiallyScheduled=True, as kube-scheduler has it.
const gangName, gangPatience, groupScheduled = "pods", 10 * 365 * 24 * 3600 * 1000, "Scheduled"

// groupOf names the pod group of a pod; zero: it has none.
func groupOf(p *v1.Pod) object {
	if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return object{groupKind, p.Namespace, *g.PodGroupName}
	}
	return object{}
}

// podGroup reads a pod group as the informer knows it; nil: there is none.
func (c *cluster) podGroup(name object) *schedulingv1beta1.PodGroup {
	if c.groups == nil || name == (object{}) {
		return nil
	}
	g, _ := c.groups.PodGroups(name.namespace).Get(name.name) // the only error is that it is unknown
	return g
}

// gangOf returns the pod group with which a pod starts; nil: it starts alone.
func (c *cluster) gangOf(p *v1.Pod) *schedulingv1beta1.PodGroup {
	if g := c.podGroup(groupOf(p)); g != nil && g.Spec.SchedulingPolicy.Gang != nil {
		return g
	}
	return nil
}

// blocked says why a pod cannot be asked for; zero: it can.
func (c *cluster) blocked(p *v1.Pod) condition {
	if len(p.Spec.ResourceClaims) > 0 {
		return unsupported("resource claims")
	}
	_, blocked := c.volumesOf(p)
	name := groupOf(p)
	if blocked != (condition{}) || c.groups == nil || name == (object{}) {
		return blocked
	}
	switch g := c.podGroup(name); {
	case g == nil:
		return condition{reasonSkipped, fmt.Sprintf("waits for the pod group %s, which does not exist", name), ""}
	case g.Spec.ParentCompositePodGroupName != nil:
		return unsupported("composite pod groups such as %s, of which %s is part,", *g.Spec.ParentCompositePodGroupName, name)
	case len(g.Spec.ResourceClaims) > 0:
		return unsupported("resource claims such as those of the pod group %s", name)
	}
	return condition{}
}

// unsupported is the condition of a pod that is not asked for because of what it has.
func unsupported(what string, about ...any) condition {
	return condition{reason: v1.PodReasonUnschedulable,
		message: fmt.Sprintf(what, about...) + " are not supported by this scheduler"}
}

// applicationOf returns the application of a pod: that of its pod group, or that of its labels. A group whose minCount
// changes before it has started gets another application; afterwards minCount means nothing.
func (s *session) applicationOf(p *v1.Pod) string {
	group := s.gangOf(p)
	if group == nil {
		return applicationID(p)
	}
	name := groupOf(p)
	g := s.gangs[name]
	if g == nil {
		g = &gang{}
		s.gangs[name] = g
		if mode := group.Spec.DisruptionMode; mode != nil && mode.All != nil {
			s.events.Event(group, v1.EventTypeWarning, "Ignored",
				"disruptionMode all holds in queues with preemption.victim.unit of taskgroup or application only")
		}
	}
	least := group.Spec.SchedulingPolicy.Gang.MinCount
	id := fmt.Sprintf("%s-%s-%.8s-%d", name.namespace, name.name, group.UID, least)
	if g.application == id || g.started && g.uid == group.UID {
		return g.application
	}
	if s.applications[g.application] != nil && !g.started {
		for _, member := range s.podsOf(byGroup, name.String()) {
			if known := s.pods[nameOf(member)]; known != nil && known.application == g.application {
				s.release(known)
			}
		}
		delete(s.applications, g.application)
		s.applicationStream.put(&si.ApplicationRequest{Remove: []*si.RemoveApplicationRequest{
			{ApplicationID: g.application, PartitionName: partition}}})
	}
	*g = gang{uid: group.UID, application: id, calling: g.calling}
	return id
}

// gangIn is gangOf a pod in an application, which may be another one than that of the group.
func (s *session) gangIn(p *v1.Pod, application string) *schedulingv1beta1.PodGroup {
	if g := s.gangs[groupOf(p)]; g != nil && g.application == application {
		return s.gangOf(p)
	}
	return nil
}

// describeGang makes an application that of a pod group.
func describeGang(a *si.AddApplicationRequest, group *schedulingv1beta1.PodGroup) {
	taskGroup := map[string]any{"name": gangName, "minMember": group.Spec.SchedulingPolicy.Gang.MinCount}
	constraints := ptr.Deref(group.Spec.SchedulingConstraints, schedulingv1beta1.PodGroupSchedulingConstraints{})
	for _, t := range constraints.Topology { // one at most
		taskGroup["topology"] = map[string]string{"required": t.Key}
	}
	text, _ := json.Marshal([]any{taskGroup}) // it always has a JSON form
	a.Tags[tagVirtualPlaceholders], a.Tags[annotationGroups] = "true", string(text)
	a.ExecutionTimeoutMilliSeconds = gangPatience
}

// reconcileGroup looks at the pods of a group that has changed.
func (s *session) reconcileGroup(ctx context.Context, name object) {
	s.reconcilePods(ctx, s.podsOf(byGroup, name.String()))
	g, group := s.gangs[name], s.podGroup(name)
	switch {
	case group == nil:
		delete(s.gangs, name)
	case g != nil:
		s.touched[name] = true
		if g.written != nil && *g.written == groupConditionOf(group) {
			g.written = nil
		}
	}
}

// touch notes that the state of a pod has changed, and with that perhaps the status of its group. A group has started
// when a pod of it was placed.
func (s *session) touch(p *pod) {
	name := groupOf(p.object)
	g := s.gangs[name]
	if g == nil || p.application != g.application {
		return
	}
	g.started = g.started || p.state == placed || p.state == reported
	s.touched[name] = true
}

// updateGroups writes the conditions of groups that have changed since the last step.
func (s *session) updateGroups(ctx context.Context) {
	for name := range s.touched {
		delete(s.touched, name)
		g, group := s.gangs[name], s.podGroup(name)
		if g == nil || g.calling || group == nil || group.Spec.SchedulingPolicy.Gang == nil {
			continue
		}
		is := groupConditionOf(group)
		if g.written != nil {
			is = *g.written
		}
		want := s.wantedGroupCondition(name, group)
		if is.reason == groupScheduled || want.reason == "" || // once scheduled, it stays so
			want.reason == is.reason && (want.message == "" || want.message == is.message) {
			continue
		}
		g.calling = true
		s.start(ctx, func() error { return s.writeGroupCondition(ctx, group, want) }, func(err error) {
			if err != nil {
				slog.Warn("the condition of a pod group is not written", "group", name, "error", err)
			}
			g.calling, g.written = false, &want
			s.touched[name] = true
		})
	}
}

// wantedGroupCondition is scheduled when minCount pods have a node, and otherwise the condition of the first pod that
// waits. Zero: none of them says anything.
func (s *session) wantedGroupCondition(name object, group *schedulingv1beta1.PodGroup) (want condition) {
	running, first := int32(0), ""
	for _, member := range s.podsOf(byGroup, name.String()) {
		switch p := s.pods[nameOf(member)]; {
		case p == nil:
		case p.state == placed || p.state == reported:
			running++
		case p.waiting.reason != "" && (first == "" || member.Name < first):
			first, want = member.Name, condition{reason: p.waiting.reason, message: p.waiting.message}
		}
	}
	if running >= group.Spec.SchedulingPolicy.Gang.MinCount {
		return condition{reason: groupScheduled, message: "the pods of the group have nodes"}
	}
	return want
}

// groupConditionOf returns the condition PodGroupInitiallyScheduled of a group.
func groupConditionOf(group *schedulingv1beta1.PodGroup) condition {
	c := ptr.Deref(meta.FindStatusCondition(group.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled),
		metav1.Condition{})
	return condition{reason: c.Reason, message: c.Message}
}

func (c *cluster) writeGroupCondition(ctx context.Context, group *schedulingv1beta1.PodGroup, want condition) error {
	next := metav1.Condition{Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionFalse,
		Reason: want.reason, Message: cmp.Or(want.message, defaultMessages[want.reason]),
		ObservedGeneration: group.Generation}
	if want.reason == groupScheduled {
		next.Status = metav1.ConditionTrue
	}
	conditions := slices.Clone(group.Status.Conditions)
	meta.SetStatusCondition(&conditions, next) // it dates the transition
	patch := statusPatch(group.UID, map[string]any{"conditions": []any{meta.FindStatusCondition(conditions, next.Type)}})
	return c.insist(ctx, "group status", c.statusCalls, object{groupKind, group.Namespace, group.Name}, func() error {
		_, err := c.client.SchedulingV1beta1().PodGroups(group.Namespace).Patch(ctx, group.Name,
			types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}
