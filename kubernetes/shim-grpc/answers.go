package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// onNodes takes the answers to nodes. Pods on a node that was accepted can be reported.
func (s *session) onNodes(ctx context.Context, m *si.NodeResponse) {
	for _, a := range m.Accepted {
		if n := s.nodes[a.NodeID]; n != nil { // it has not been removed meanwhile
			n.accepted = true
		}
		if s.live {
			s.reconcilePods(ctx, s.podsOf(byNode, a.NodeID))
			s.reconcileNode(a.NodeID)
		}
	}
	for _, r := range m.Rejected {
		slog.Error("the scheduler rejects a node", "node", r.NodeID, "reason", r.Reason)
		delete(s.nodes, r.NodeID)
		if n := s.cluster.node(r.NodeID); n != nil {
			s.events.Event(n, v1.EventTypeWarning, "Rejected", r.Reason)
			s.queue.AddRateLimited(object{kind: nodeKind, name: r.NodeID})
		}
	}
}

// onApplications takes the answers to applications, and their states. One that has ended is submitted again with its
// next pod.
func (s *session) onApplications(ctx context.Context, m *si.ApplicationResponse) {
	for _, a := range m.Accepted {
		if known := s.applications[a.ApplicationID]; known != nil {
			known.accepted = true
			s.reconcilePods(ctx, s.membersOf(a.ApplicationID))
		}
	}
	for _, r := range m.Rejected {
		slog.Error("the scheduler rejects an application", "application", r.ApplicationID, "reason", r.Reason)
		members := s.membersOf(r.ApplicationID)
		s.forgetApplication(r.ApplicationID)
		for _, p := range members {
			if s.goal(p) != unknown {
				s.retry(p, "application "+r.ApplicationID+" is rejected: "+r.Reason)
			}
		}
	}
	for _, u := range m.Updated {
		switch u.State {
		case "Completed", "Failed", "Expired", "Rejected":
			slog.Info("an application has ended", "application", u.ApplicationID, "state", u.State, "message", u.Message)
			members := s.membersOf(u.ApplicationID)
			s.forgetApplication(u.ApplicationID)
			s.reconcilePods(ctx, members)
		}
	}
}

// membersOf returns the pods of an application that was submitted.
func (s *session) membersOf(id string) []*v1.Pod {
	if a := s.applications[id]; a != nil && a.group != (object{}) {
		return s.podsOf(byGroup, a.group.String())
	}
	return s.podsOf(byApplication, id)
}

// forgetApplication lets the next pod submit the application anew; if it is a gang, its pods start together again.
func (s *session) forgetApplication(id string) {
	if a := s.applications[id]; a != nil {
		if g := s.gangs[a.group]; g != nil && g.application == id {
			g.started = false
		}
		delete(s.applications, id)
	}
}

func (s *session) reconcilePods(ctx context.Context, pods []*v1.Pod) {
	if s.live {
		for _, p := range pods {
			s.reconcilePod(ctx, nameOf(p))
		}
	}
}

// onAllocations takes decisions.
func (s *session) onAllocations(ctx context.Context, m *si.AllocationResponse) {
	for _, a := range m.New {
		s.onNew(ctx, a)
	}
	for _, r := range m.RejectedAllocations {
		slog.Error("the scheduler rejects a pod", "pod", r.AllocationKey, "application", r.ApplicationID, "reason", r.Reason)
		if p := s.keys[r.AllocationKey]; p != nil {
			s.setState(p, unknown)
			s.retry(p.object, r.Reason)
		}
	}
	for _, r := range m.Released {
		s.onReleased(ctx, r)
	}
}

// onNew binds a pod. It may have ended, or its node may be gone, while the decision was on its way.
func (s *session) onNew(ctx context.Context, a *si.Allocation) {
	p, n := s.keys[a.AllocationKey], s.nodes[a.NodeID]
	switch {
	case p == nil || p.state == unknown || p.application != a.ApplicationID:
		s.sendRelease(a.ApplicationID, a.AllocationKey, 0, "")
	case p.state == asked && n == nil:
		s.release(p)
		s.retry(p.object, "node "+a.NodeID+" is gone")
	case p.state == asked:
		p.node, p.bound, p.decided = a.NodeID, false, time.Now()
		s.setState(p, placed)
		s.next(ctx, p)
	case p.state == reported && p.node != a.NodeID: // bound elsewhere, and reported while the decision was on its way
		s.release(p)
		s.report(p)
	}
}

// onReleased takes an order to end a pod. STOPPED_BY_RM is none: it answers what this shim has done.
func (s *session) onReleased(ctx context.Context, r *si.AllocationRelease) {
	if r.TerminationType == si.TerminationType_STOPPED_BY_RM {
		return
	}
	p := s.keys[r.AllocationKey]
	if p == nil || p.state == unknown {
		s.sendRelease(r.ApplicationID, r.AllocationKey, r.TerminationType, "")
		return
	}
	slog.Info("the scheduler ends a pod", "pod", nameOf(p.object), "type", r.TerminationType, "message", r.Message)
	s.events.Event(p.object, v1.EventTypeNormal, "Preempted", r.Message)
	p.ending = r.TerminationType
	if p.state == asked { // an ask is gone with that, and there is nothing to confirm
		s.setState(p, unknown)
	}
	s.next(ctx, p)
}

// onBound takes the result of a binding. The informer says what became of the pod.
func (s *session) onBound(ctx context.Context, p *pod, err error) {
	if err != nil {
		slog.Error("the pod is not bound", "pod", nameOf(p.object), "node", p.node, "error", err)
		if p.state == placed {
			if !errors.Is(err, errGone) && !apierrors.IsNotFound(err) { // then it is not about the node
				p.refusal = err.Error()
			}
			s.release(p)
		}
		s.retry(p.object, err.Error())
		return
	}
	p.bound = true
	s.metrics.binding.Observe(time.Since(p.decided).Seconds())
	s.queue.Forget(nameOf(p.object))
	s.events.Eventf(p.object, v1.EventTypeNormal, "Scheduled", "Successfully assigned %s to %s", nameOf(p.object), p.node)
	s.next(ctx, p) // its end may have been ordered meanwhile
}

// onRemoved takes the result of a deletion.
func (s *session) onRemoved(p *pod, err error) {
	if err != nil {
		slog.Error("the pod is not deleted", "pod", nameOf(p.object), "error", err)
		s.retry(p.object, err.Error())
		return
	}
	p.removed = true
}

// retry looks at a pod again later, each time after a longer wait.
func (s *session) retry(p *v1.Pod, reason string) {
	s.events.Event(p, v1.EventTypeWarning, "FailedScheduling", reason)
	s.queue.AddRateLimited(nameOf(p))
}
