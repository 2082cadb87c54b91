package main

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
)

// node has what the scheduler was told of a node.
type node struct {
	info        *si.NodeInfo
	schedulable bool
	answer
}

// application is one that was submitted, and has not ended.
type application struct{ answer }

// answer is the scheduler's answer to a node or an application. One that was rejected is forgotten.
type answer struct{ accepted bool }

func (a *answer) wasAccepted() bool { return a.accepted }

func allAccepted[T interface{ wasAccepted() bool }](all map[string]T) bool {
	for _, a := range all {
		if !a.wasAccepted() {
			return false
		}
	}
	return true
}

// pod has what the scheduler was told of a pod.
type pod struct {
	object  *v1.Pod // as it was told
	state   state
	node    string       // where it runs or is to run
	amounts *si.Resource // that were told
	// ending is the type of a release that the scheduler has ordered: it is confirmed when the pod has ended.
	ending  si.TerminationType
	refusal string // why its node refused it: the binding failed; empty: it did not
	calling bool   // an API call is on its way
}

// state says what the scheduler knows of a pod.
type state int

const (
	unknown  state = iota // nothing, or that it has ended
	asked                 // it is pending
	placed                // the scheduler has said where it is to run
	reported              // it runs
)

// ours reports whether a pod is for this scheduler.
func (s *session) ours(p *v1.Pod) bool { return p.Spec.SchedulerName == s.schedulerName }

// goal returns the state of a pod that the scheduler should know.
func (s *session) goal(p *v1.Pod) state {
	switch {
	case p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed:
		return unknown
	case p.Spec.NodeName != "":
		return reported
	case s.ours(p) && p.DeletionTimestamp == nil && len(p.Spec.SchedulingGates) == 0:
		return asked
	}
	return unknown
}

// reconcilePod tells the scheduler what it should know of a pod and does not.
func (s *session) reconcilePod(ctx context.Context, name object) {
	now, p := s.pod(name), s.pods[name]
	if p != nil && (now == nil || now.UID != p.object.UID) { // it is gone, and another one may have its name
		s.release(p)
		delete(s.pods, name)
		delete(s.keys, string(p.object.UID))
		p = nil
	}
	if now == nil {
		s.queue.Forget(name)
		return
	}
	if p == nil {
		p = &pod{object: now}
		s.pods[name], s.keys[string(now.UID)] = p, p
	}
	p.object = now
	goal := s.goal(now)
	if goal != unknown && p.ending != 0 {
		s.end(ctx, p)
	}
	switch {
	case goal == unknown:
		s.release(p)
	case goal == reported:
		s.report(p)
	case p.ending == 0:
		s.ask(p)
	}
}

// ask asks for a node for a pod that has none.
func (s *session) ask(p *pod) {
	if p.state == placed || !s.submitted(p.object) {
		return
	}
	a := s.newAsk(p.object)
	if p.state == asked && proto.Equal(a.ResourcePerAlloc, p.amounts) {
		return
	}
	p.state, p.amounts = asked, a.ResourcePerAlloc
	s.send(a)
}

// report reports that a pod runs, when its node is known, and when its requests have changed.
func (s *session) report(p *pod) {
	where := p.object.Spec.NodeName
	if n := s.nodes[where]; n == nil || !n.accepted {
		return // the answer to the node comes back here
	}
	if p.state == placed && p.node != where { // something else has bound it elsewhere
		s.release(p)
	}
	a := newForeign(p.object)
	if s.ours(p.object) {
		if !s.submitted(p.object) {
			return
		}
		a = s.newAsk(p.object)
	}
	if p.state == placed {
		p.state = reported
	}
	if p.state == reported && proto.Equal(a.ResourcePerAlloc, p.amounts) {
		return
	}
	a.NodeID = where
	p.state, p.node, p.amounts = reported, where, a.ResourcePerAlloc
	s.send(a)
}

// release tells the scheduler that a pod has ended. If the scheduler has ordered that, it confirms the order.
func (s *session) release(p *pod) {
	if p.state == unknown {
		return
	}
	p.state, p.node = unknown, ""
	application := ""
	if s.ours(p.object) {
		application = applicationID(p.object)
	}
	s.sendRelease(application, string(p.object.UID), p.ending, p.refusal)
	p.refusal = ""
}

// submitted reports whether the application of a pod has been accepted, and submits it if it was not.
func (s *session) submitted(p *v1.Pod) bool {
	id := applicationID(p)
	a := s.applications[id]
	if a == nil {
		a = &application{}
		s.applications[id] = a
		s.applicationStream.put(&si.ApplicationRequest{New: []*si.AddApplicationRequest{newApplication(p,
			p.Spec.NodeName != "")}})
	}
	return a.accepted
}

// registerNode registers a node as unschedulable: what runs on it is reported first.
func (s *session) registerNode(n *v1.Node) {
	info := newNode(n, si.NodeInfo_CREATE_DRAIN)
	s.nodes[n.Name] = &node{info: info}
	s.sendNode(info)
}

// reconcileNode tells the scheduler what has changed about a node.
func (s *session) reconcileNode(name string) {
	now, n := s.cluster.node(name), s.nodes[name]
	switch {
	case now == nil && n == nil:
		return
	case now == nil:
		for _, p := range s.pods { // what is reported here is reported again when a node of this name is
			if p.node == name {
				s.release(p)
			}
		}
		s.sendNode(&si.NodeInfo{NodeID: name, Action: si.NodeInfo_DECOMISSION})
		delete(s.nodes, name)
		return
	case n == nil:
		s.registerNode(now)
		return
	case !n.accepted:
		return // the answer comes back here
	}
	info := newNode(now, si.NodeInfo_UPDATE)
	if !proto.Equal(info.SchedulableResource, n.info.SchedulableResource) ||
		!maps.Equal(info.Attributes, n.info.Attributes) {
		n.info = info
		s.sendNode(info)
	}
	if schedulable := !now.Spec.Unschedulable; schedulable != n.schedulable {
		n.schedulable = schedulable
		action := si.NodeInfo_DRAIN_NODE
		if schedulable {
			action = si.NodeInfo_DRAIN_TO_SCHEDULABLE
		}
		s.sendNode(&si.NodeInfo{NodeID: name, Action: action})
	}
}

// end deletes a pod that the scheduler has ordered to end.
func (s *session) end(ctx context.Context, p *pod) {
	if p.calling || p.object.DeletionTimestamp != nil {
		return
	}
	target := p.object
	s.start(ctx, p, true, func() error { return s.remove(ctx, target) })
}

func (s *session) sendNode(n *si.NodeInfo) {
	s.nodeStream.put(&si.NodeRequest{Nodes: []*si.NodeInfo{n}})
}

// send sends an allocation or an ask. Those of a recovery go many at a time: what waits is compared, and not taken as
// it comes.
func (s *session) send(a *si.Allocation) {
	s.held = append(s.held, a)
	if s.live {
		s.sendHeld()
	}
}

// sendHeld sends messages of some 500 KB at most, where one may have 4 MB.
func (s *session) sendHeld() {
	for allocations := range slices.Chunk(s.held, 1000) {
		s.allocationStream.put(&si.AllocationRequest{Allocations: allocations})
	}
	s.held = nil
}

// sendRelease releases an allocation or an ask; without a type, because the pod has ended by itself. With a refusal the
// scheduler does not place the pod on the same node again for a time.
func (s *session) sendRelease(application, key string, why si.TerminationType, refusal string) {
	message := ""
	if refusal != "" {
		message = "canopy: node refused: " + refusal
	}
	why = cmp.Or(why, si.TerminationType_STOPPED_BY_RM) // without a type it is 0
	s.allocationStream.put(
		&si.AllocationRequest{Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{PartitionName: partition, ApplicationID: application, AllocationKey: key, TerminationType: why, Message: message},
		}}})
}
