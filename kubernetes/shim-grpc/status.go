package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// condition says why a pod or a pod group is not scheduled, and on which node victims end for a pod. Zero: nothing.
type condition struct{ reason, message, nominatedNode string }

// reasonSkipped is the reason of pods that autoscalers must not add nodes for: they do so for Unschedulable only. It is
// the word of YuniKorn's shim.
const reasonSkipped = "SchedulingSkipped"

// defaultMessages holds the message of a condition, by its reason, until the scheduler has explained it.
var defaultMessages = map[string]string{
	v1.PodReasonUnschedulable: "no node can take the pod",
	reasonSkipped:             "more nodes would not help the pod",
}

// staleAfter is the age of a session from which a condition that it knows no reason for is removed. Before that, the
// condition may be of the session before.
const staleAfter = time.Minute

// conditionOf returns the condition that a pod has.
func conditionOf(p *v1.Pod) condition {
	c := scheduledCondition(p)
	return condition{c.Reason, c.Message, p.Status.NominatedNodeName}
}

// scheduledCondition returns the condition PodScheduled=False of a pod; zero: it has none.
func scheduledCondition(p *v1.Pod) v1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse {
			return c
		}
	}
	return v1.PodCondition{}
}

// noticeStatus compares what was written with what the informer knows of a pod, and finds out whether it can be asked
// for.
func (s *session) noticeStatus(p *pod) {
	if p.written != nil && *p.written == conditionOf(p.object) {
		p.written = nil
	}
	p.blocked = condition{}
	if s.pending(p.object) {
		p.blocked = s.blocked(p.object)
	}
	// Objects are created in any order: that a group or a volume is missing is worth a word only after a while.
	if p.blocked.reason == reasonSkipped {
		again := 5 * time.Second // no change of a volume comes here
		if patience := s.patience - time.Since(p.seen); patience > 0 {
			p.blocked, again = condition{}, min(again, patience)
		}
		s.queue.AddAfter(nameOf(p.object), again)
	}
}

// updateCondition writes the condition of a pod that waits, if it has changed, and an event with its message. A
// message that has not come yet does not replace another one.
func (s *session) updateCondition(ctx context.Context, p *pod, ended func(func(error)) func(error)) {
	if !s.pending(p.object) || p.state == placed || p.state == reported {
		return
	}
	want, is := cmp.Or(p.blocked, p.waiting), conditionOf(p.object)
	if p.written != nil {
		is = *p.written
	}
	p.explained = p.explained || want != condition{}
	if want.reason == is.reason {
		want.message = cmp.Or(want.message, is.message)
	}
	switch {
	case want == is:
		return
	case want == condition{} && !p.explained && time.Since(s.started) < staleAfter:
		return
	case want.message != "" && want.message != is.message:
		s.events.Event(p.object, v1.EventTypeWarning, "FailedScheduling", want.message)
	}
	want.message = cmp.Or(want.message, defaultMessages[want.reason])
	target := p.object
	s.start(ctx, func() error { return s.writeCondition(ctx, target, want) }, ended(func(err error) {
		if err != nil {
			slog.Warn("the condition of a pod is not written", "pod", nameOf(target), "error", err)
		}
		p.written = &want // one that is refused is not tried again
		s.next(ctx, p)
	}))
}

// writeCondition writes the condition PodScheduled of a pod that has no node, and its nominated node. What is empty is
// removed.
func (c *cluster) writeCondition(ctx context.Context, p *v1.Pod, want condition) error {
	entry := map[string]any{"type": v1.PodScheduled, "$patch": "delete"}
	if want.reason != "" {
		since := cmp.Or(scheduledCondition(p).LastTransitionTime, metav1.Now())
		entry = map[string]any{"type": v1.PodScheduled, "status": v1.ConditionFalse, "reason": want.reason,
			"message": want.message, "lastTransitionTime": since, "observedGeneration": p.Generation}
	}
	return c.patchPod(ctx, p, map[string]any{"conditions": []any{entry}, "nominatedNodeName": want.nominatedNode})
}

// patchPod changes fields in the status of a pod.
func (c *cluster) patchPod(ctx context.Context, p *v1.Pod, fields map[string]any) error {
	return c.insist(ctx, "status", c.statusCalls, nameOf(p), func() error {
		_, err := c.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType,
			statusPatch(p.UID, fields), metav1.PatchOptions{}, "status")
		return err
	})
}

// statusPatch changes fields in the status of an object; the API server refuses it for another one of this name.
func statusPatch(uid types.UID, fields map[string]any) []byte {
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": fields})
	return patch // it always has a JSON form
}
