package chaos

import (
	"maps"
	"slices"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
)

// handle is what the shim does about an answer.
func (s *shim) handle(m proto.Message) {
	switch m := m.(type) {
	case *si.NodeResponse:
		for _, n := range m.Accepted {
			s.creating[n.NodeID]--
		}
		for _, n := range m.Rejected {
			s.onNodeRejected(n)
		}
	case *si.ApplicationResponse:
		s.onApplications(m)
	case *si.AllocationResponse:
		for _, x := range m.New {
			s.onAllocated(x)
		}
		for _, r := range m.Released {
			s.onReleased(r)
		}
		for _, r := range m.RejectedAllocations {
			s.onAskRejected(r)
		}
	}
	s.resendRejected()
	s.advance()
}

// onNodeRejected: a node is rejected only as a duplicate, or in a change of a node that is gone.
func (s *shim) onNodeRejected(r *si.RejectedNode) {
	if !strings.Contains(r.Reason, "already exists") && !strings.Contains(r.Reason, "unknown node") {
		s.fail("node %s is rejected: %s", r.NodeID, r.Reason)
	}
	if strings.Contains(r.Reason, "already exists") {
		s.creating[r.NodeID]--
	}
	s.events["a message about a node comes twice"]++
}

func (s *shim) onApplications(m *si.ApplicationResponse) {
	for _, a := range m.Accepted {
		if known := s.apps[a.ApplicationID]; known != nil {
			known.accepted = true
		}
	}
	for _, a := range m.Rejected {
		if !strings.Contains(a.Reason, "already exists") {
			s.fail("application %s is rejected: %s", a.ApplicationID, a.Reason)
		}
		s.events["an application comes twice"]++
	}
	for _, u := range m.Updated {
		// its gang was not complete in time
		if (u.State == "Failing" || u.State == "Failed") && s.apps[u.ApplicationID] != nil {
			s.removeApp(u.ApplicationID)
			s.events["an application fails"]++
		}
		if a := s.apps[u.ApplicationID]; a != nil && u.State == "Completed" {
			a.accepted = false
			if len(s.podsWhere(func(p *pod) bool { return p.app == u.ApplicationID })) > 0 {
				s.sendApp(a) // it has new pods: it begins again
				s.events["an application begins again"]++
			} else {
				delete(s.apps, u.ApplicationID)
			}
		}
	}
}

func (s *shim) onAllocated(x *si.Allocation) {
	p := s.pods[x.AllocationKey]
	switch {
	case p == nil: // it ended meanwhile: its release is on its way, or was lost
		s.sendRelease(&si.AllocationRelease{
			PartitionName: "default", ApplicationID: x.ApplicationID, AllocationKey: x.AllocationKey,
			TerminationType: si.TerminationType_STOPPED_BY_RM,
		})
	case p.node == x.NodeID: // the answer to a report
	case p.node != "":
		s.fail("%s runs on %s, and is allocated on %s", p.key, p.node, x.NodeID)
	case s.nodes[x.NodeID] == nil: // it cannot start
		s.end(p, si.TerminationType_STOPPED_BY_RM)
		s.replacePod(p)
	default:
		p.node = x.NodeID
	}
}

func (s *shim) onReleased(r *si.AllocationRelease) {
	p := s.pods[r.AllocationKey]
	switch {
	case p == nil && r.TerminationType == si.TerminationType_STOPPED_BY_RM: // the shim has released it
	case p == nil: // it ended by itself, which the core may not know
		s.sendRelease(&si.AllocationRelease{
			PartitionName: "default", ApplicationID: r.ApplicationID, AllocationKey: r.AllocationKey,
			TerminationType: r.TerminationType,
		})
	case r.TerminationType == si.TerminationType_STOPPED_BY_RM: // its node was removed when it was allocated, and is back
		s.end(p, si.TerminationType_STOPPED_BY_RM) // a copy of its ask may be on its way
		s.replacePod(p)
		s.events["an allocation is lost with the former registration of its node"]++
	case p.ordered:
		s.fail("the release of %s is ordered twice", p.key)
	case p.node == "" && r.TerminationType != si.TerminationType_TIMEOUT:
		s.fail("the release of %s is ordered as %s, and it does not run", p.key, r.TerminationType)
	case p.node == "": // the gang was not complete in time; the ask may be on its way again, and TIMEOUT leaves asks alone
		s.end(p, si.TerminationType_STOPPED_BY_RM)
		s.replacePod(p)
	default:
		p.ordered, p.orderedAs = true, r.TerminationType
		s.events["ordered: "+r.TerminationType.String()]++
	}
}

// onAskRejected: an ask or a report of what is still there is rejected only because it was faster than its application
// or node.
func (s *shim) onAskRejected(r *si.RejectedAllocation) {
	if s.pods[r.AllocationKey] == nil && s.foreigns[r.AllocationKey] == nil {
		return
	}
	if !strings.Contains(r.Reason, "unknown") {
		s.fail("%s is rejected: %s", r.AllocationKey, r.Reason)
	}
	if p := s.pods[r.AllocationKey]; p != nil {
		p.rejected = true
	}
	if f := s.foreigns[r.AllocationKey]; f != nil {
		f.rejected = true
	}
	s.events["rejected because it came too early"]++
}

// resendRejected sends again what came too early.
func (s *shim) resendRejected() {
	for _, p := range s.podsWhere(func(p *pod) bool { return p.rejected }) {
		if a := s.apps[p.app]; a != nil && a.accepted && (p.node == "" || s.accepted(p.node)) {
			s.sendPod(p)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.foreigns)) {
		if f := s.foreigns[key]; f.rejected && s.accepted(f.node) {
			s.sendForeign(f)
		}
	}
}

// recover registers, and reports everything. A shim that does not wait for acceptance sends everything at once.
func (s *shim) recover() {
	s.drop()
	s.released = nil
	clear(s.creating)
	for _, a := range s.apps {
		a.accepted, a.sent = false, false
	}
	for _, f := range s.foreigns {
		f.rejected = false
	}
	for _, p := range s.pods {
		p.rejected = false
		if p.ordered { // the core knows nothing of it any more: it runs, or is killed
			p.ordered = false
		}
	}
	s.serve.register(s)
	s.open()
	s.phase = nodesSent
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		s.sendNode(id, si.NodeInfo_CREATE_DRAIN)
	}
	s.waits = s.hold || s.inOrder || s.rng.IntN(2) == 0
	s.advance()
}

// advance goes to the next phase of a recovery when everything of the former one is accepted.
func (s *shim) advance() {
	if s.phase == nodesSent && s.allNodesAccepted() {
		s.phase = appsSent
		for _, id := range slices.Sorted(maps.Keys(s.apps)) {
			s.sendApp(s.apps[id])
		}
	}
	if s.phase == appsSent && s.allAppsAccepted() {
		s.phase = live
		s.reportPods()
		if !s.hold {
			s.makeSchedulable()
		}
	}
}

func (s *shim) allNodesAccepted() bool {
	for id := range s.nodes {
		if !s.accepted(id) && s.waits {
			return false
		}
	}
	return true
}

func (s *shim) allAppsAccepted() bool {
	for _, a := range s.apps {
		if !a.accepted && s.waits {
			return false
		}
	}
	return true
}

// reportPods reports what runs, in any order, and then the pending asks, in theirs.
func (s *shim) reportPods() {
	var reports []func()
	for _, p := range s.podsWhere(func(p *pod) bool { return p.node != "" }) {
		reports = append(reports, func() { s.sendPod(p) })
	}
	for _, key := range slices.Sorted(maps.Keys(s.foreigns)) {
		if f := s.foreigns[key]; !f.rejected {
			reports = append(reports, func() { s.sendForeign(f) })
		}
	}
	s.rng.Shuffle(len(reports), func(i, j int) { reports[i], reports[j] = reports[j], reports[i] })
	for _, report := range reports {
		report()
	}
	for _, p := range s.podsWhere(func(p *pod) bool { return p.node == "" }) {
		s.sendPod(p)
	}
}

func (s *shim) makeSchedulable() {
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if !s.nodes[id].draining {
			s.sendNode(id, si.NodeInfo_DRAIN_TO_SCHEDULABLE)
		}
	}
}

// resync sends everything about one kind again without a registration, because messages may have been lost.
func (s *shim) resync(k kind) {
	switch {
	case s.phase != live:
	case k == nodeKind:
		for i := range 4 {
			id := []string{"n0", "n1", "n2", "n3"}[i]
			n := s.nodes[id]
			if n == nil {
				s.sendNode(id, si.NodeInfo_DECOMISSION)
				continue
			}
			s.sendNode(id, si.NodeInfo_CREATE_DRAIN)
			s.sendNode(id, si.NodeInfo_UPDATE)
			s.drain(id, n.draining)
		}
	case k == appKind:
		for _, id := range slices.Sorted(maps.Keys(s.apps)) {
			if !s.apps[id].accepted {
				s.sendApp(s.apps[id])
			}
		}
	default:
		for _, r := range slices.Clone(s.released) {
			s.link[allocationKind].enqueue(releaseOf(r))
		}
		s.reportPods()
	}
}
