package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
)

// node has what the scheduler was told of a node.
type node struct {
	info                  *si.NodeInfo
	schedulable, accepted bool
}

// application is one that was submitted, and has not ended.
type application struct {
	accepted bool
	group    object // the pod group that is its gang; zero: none
}

// pod has what the scheduler was told of a pod.
type pod struct {
	object      *v1.Pod // as it was told
	application string  // under which it was told; empty: as a foreign one
	state       state
	node        string       // where it runs or is to run
	amounts     *si.Resource // that were told
	// ending is the type of a release that the scheduler has ordered: it is confirmed when the pod has ended.
	ending  si.TerminationType
	refusal string // why its node refused it: the binding failed; empty: it did not

	calling   bool       // an API call is on its way
	removed   bool       // its deletion has succeeded
	bound     bool       // its binding has succeeded
	decided   time.Time  // when the scheduler placed it
	seen      time.Time  // when the session has seen it first
	blocked   condition  // why it is not asked for; zero: it may be
	waiting   condition  // why the scheduler lets it wait; zero: not known
	stream    int        // number of the stream that waiting is from
	written   *condition // that was written and the informer does not know yet; nil: none
	explained bool       // this session has had a reason for the condition, which goes with it
}

// state says what the scheduler knows of a pod.
type state int

const (
	unknown  state = iota // nothing, or that it has ended
	asked                 // it is pending
	placed                // the scheduler has said where it is to run
	reported              // it runs
)

// String is the state as metrics have it.
func (s state) String() string { return [...]string{"unknown", "asked", "placed", "reported"}[s] }

// setState sets the state of a pod, which may be that of its group, too.
func (s *session) setState(p *pod, to state) {
	if p.state == to {
		return
	}
	s.metrics.count(p.state, to)
	p.state = to
	s.touch(p)
}

// ours reports whether a pod is for this scheduler.
func (s *session) ours(p *v1.Pod) bool { return p.Spec.SchedulerName == s.schedulerName }

// goal returns the state of a pod that the scheduler should know.
func (s *session) goal(p *v1.Pod) state {
	switch {
	case finished(p):
		return unknown
	case p.Spec.NodeName != "":
		return reported
	case s.pending(p) && s.blocked(p) == condition{}:
		return asked
	}
	return unknown
}

// finished reports whether a pod has ended by itself.
func finished(p *v1.Pod) bool {
	return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
}

// pending reports whether a pod waits for this scheduler.
func (s *session) pending(p *v1.Pod) bool {
	return s.ours(p) && p.Spec.NodeName == "" && p.DeletionTimestamp == nil && len(p.Spec.SchedulingGates) == 0 &&
		!finished(p)
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
		p = &pod{object: now, seen: time.Now()}
		s.pods[name], s.keys[string(now.UID)] = p, p
	}
	p.object = now
	s.noticeStatus(p)
	switch goal := s.goal(now); {
	case goal == unknown:
		s.release(p)
	case goal == reported:
		s.report(p)
	case p.ending == 0:
		s.ask(p)
	}
	s.next(ctx, p)
}

// next makes the next API call for a pod, which has one at a time: the deletion that the scheduler has ordered, the
// binding, or a change of its condition.
func (s *session) next(ctx context.Context, p *pod) {
	target := p.object
	ended := func(then func(error)) func(error) {
		p.calling = true
		return func(err error) {
			p.calling = false
			if s.keys[string(target.UID)] == p { // it is not gone
				then(err)
			}
		}
	}
	switch {
	case p.calling:
	case p.ending != 0:
		if !p.removed && target.DeletionTimestamp == nil && !finished(target) {
			preempted := p.ending == si.TerminationType_PREEMPTED_BY_SCHEDULER
			s.start(ctx, func() error { return s.remove(ctx, target, preempted) },
				ended(func(err error) { s.onRemoved(p, err) }))
		}
	case p.state == placed && !p.bound:
		node := p.node
		s.start(ctx, func() error { return s.bind(ctx, target, node) }, ended(func(err error) { s.onBound(ctx, p, err) }))
	default:
		s.updateCondition(ctx, p, ended)
	}
}

// ask asks for a node for a pod that has none.
func (s *session) ask(p *pod) {
	application := s.applicationOf(p.object)
	if p.state == asked && p.application != application { // its pod group has changed before it started
		s.release(p)
	}
	if p.state == placed || !s.submitted(p.object, application) {
		return
	}
	a := s.newAsk(p.object, application)
	if p.state == asked && proto.Equal(a.ResourcePerAlloc, p.amounts) {
		return
	}
	p.application, p.amounts = application, a.ResourcePerAlloc
	s.setState(p, asked)
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
	application := ""
	if s.ours(p.object) {
		application = p.application
		if p.state == unknown {
			application = s.applicationOf(p.object)
		}
		if !s.submitted(p.object, application) {
			return
		}
		a = s.newAsk(p.object, application)
	}
	known := p.state == placed || p.state == reported
	p.application = application
	s.setState(p, reported)
	if known && proto.Equal(a.ResourcePerAlloc, p.amounts) {
		return
	}
	a.NodeID = where
	p.node, p.amounts = where, a.ResourcePerAlloc
	s.send(a)
}

// release tells the scheduler that a pod has ended. If the scheduler has ordered that, it confirms the order.
func (s *session) release(p *pod) {
	if p.state == unknown {
		return
	}
	s.setState(p, unknown)
	s.sendRelease(p.application, string(p.object.UID), p.ending, p.refusal)
	p.node, p.refusal, p.waiting = "", "", condition{}
}

// submitted reports whether an application has been accepted, and submits it for a pod if it was not.
func (s *session) submitted(p *v1.Pod, id string) bool {
	a := s.applications[id]
	if a == nil {
		a = &application{}
		s.applications[id] = a
		s.applicationStream.put(&si.ApplicationRequest{New: []*si.AddApplicationRequest{s.newApplication(p, id, a)}})
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
