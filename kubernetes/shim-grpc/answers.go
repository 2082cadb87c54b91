package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// onNodes takes the answers to nodes. Pods on a node that was accepted can be reported.
func (s *session) onNodes(ctx context.Context, m *si.NodeResponse) {
	for _, a := range m.Accepted {
		n := s.nodes[a.NodeID]
		if n == nil {
			continue // it has been removed meanwhile
		}
		n.accepted = true
		if s.live {
			for _, p := range s.podsOf(byNode, a.NodeID) {
				s.reconcilePod(ctx, nameOf(p))
			}
			s.reconcileNode(a.NodeID)
		}
	}
	for _, r := range m.Rejected {
		slog.Error("the scheduler rejects a node", "node", r.NodeID, "reason", r.Reason)
		delete(s.nodes, r.NodeID)
		if n := s.cluster.node(r.NodeID); n != nil {
			s.events.Event(n, v1.EventTypeWarning, "Rejected", r.Reason)
			s.queue.AddRateLimited(object{Name: r.NodeID})
		}
	}
}

// onApplications takes the answers to applications, and their states. One that has ended is submitted again with its
// next pod.
func (s *session) onApplications(ctx context.Context, m *si.ApplicationResponse) {
	for _, a := range m.Accepted {
		if known := s.applications[a.ApplicationID]; known != nil {
			known.accepted = true
			s.reconcileApplication(ctx, a.ApplicationID)
		}
	}
	for _, r := range m.Rejected {
		slog.Error("the scheduler rejects an application", "application", r.ApplicationID, "reason", r.Reason)
		delete(s.applications, r.ApplicationID)
		for _, p := range s.podsOf(byApplication, r.ApplicationID) {
			if s.goal(p) != unknown {
				s.retry(p, "application "+r.ApplicationID+" is rejected: "+r.Reason)
			}
		}
	}
	for _, u := range m.Updated {
		switch u.State {
		case "Completed", "Failed", "Expired", "Rejected":
			slog.Info("an application has ended", "application", u.ApplicationID, "state", u.State, "message", u.Message)
			delete(s.applications, u.ApplicationID)
			s.reconcileApplication(ctx, u.ApplicationID)
		}
	}
}

func (s *session) reconcileApplication(ctx context.Context, id string) {
	if s.live {
		for _, p := range s.podsOf(byApplication, id) {
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
			p.state = unknown
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
	case p == nil || p.state == unknown:
		s.sendRelease(a.ApplicationID, a.AllocationKey, 0, "")
	case p.state == asked && n == nil:
		s.release(p)
		s.retry(p.object, "node "+a.NodeID+" is gone")
	case p.state == asked:
		p.state, p.node = placed, a.NodeID
		target := p.object
		s.start(ctx, p, false, func() error { return s.bind(ctx, target, a.NodeID) })
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
		p.state = unknown
	}
	s.end(ctx, p)
}

// onCall takes the result of a binding or a deletion. The informer says what became of the pod.
func (s *session) onCall(ctx context.Context, c call) {
	p := c.pod
	p.calling = false
	if s.keys[string(p.object.UID)] != p {
		return // it is gone
	}
	switch {
	case c.err != nil:
		slog.Error("the API server refuses", "pod", nameOf(p.object), "error", c.err)
		if p.state == placed {
			if !errors.Is(c.err, errGone) && !apierrors.IsNotFound(c.err) { // then it is not about the node
				p.refusal = c.err.Error()
			}
			s.release(p)
		}
		s.retry(p.object, c.err.Error())
	case c.removal:
	case p.ending != 0:
		s.end(ctx, p) // ordered during the binding
	default:
		s.queue.Forget(nameOf(p.object))
		s.events.Eventf(p.object, v1.EventTypeNormal, "Scheduled", "Successfully assigned %s to %s", nameOf(p.object), p.node)
	}
}

// retry looks at a pod again later, each time after a longer wait.
func (s *session) retry(p *v1.Pod, reason string) {
	s.events.Event(p, v1.EventTypeWarning, "FailedScheduling", reason)
	s.queue.AddRateLimited(nameOf(p))
}
