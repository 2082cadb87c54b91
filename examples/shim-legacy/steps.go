package main

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// vcores is a resource in 1000ths of a core.
func vcores(n int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{common.CPU: {Value: n}}}
}

func ask(key string, amount int64, priority int32) *si.AllocationAsk {
	return &si.AllocationAsk{
		AllocationKey: key, ApplicationID: app, PartitionName: partition, ResourceAsk: vcores(amount), MaxAllocations: 1,
		Priority:         priority,
		PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: priority > 0},
	}
}

func (s *shim) sendAsks(asks ...*si.AllocationAsk) error {
	return s.allocations.Send(&si.AllocationRequest{Asks: asks})
}

func (s *shim) sendReleases(r *si.AllocationReleasesRequest) error {
	return s.allocations.Send(&si.AllocationRequest{Releases: r})
}

func release(id string, why si.TerminationType) *si.AllocationRelease {
	return &si.AllocationRelease{PartitionName: partition, ApplicationID: app, AllocationID: id, TerminationType: why}
}

func (s *shim) addApplication() error {
	err := s.applications.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{{
		ApplicationID: app, QueueName: "root.batch", PartitionName: partition,
		Ugi: &si.UserGroupInformation{User: "alice", Groups: []string{"developers"}},
	}}})
	if err != nil {
		return err
	}
	m, err := s.applications.Recv()
	if err != nil {
		return err
	}
	if len(m.Accepted) != 1 || m.Accepted[0].ApplicationID != app {
		return fmt.Errorf("it was not accepted: %v", m)
	}
	return nil
}

func (s *shim) sendNodes(nodes ...*si.NodeInfo) error {
	for _, n := range nodes {
		if n.Attributes == nil {
			n.Attributes = map[string]string{common.NodeReadyAttribute: "true"}
		}
		n.Attributes[common.NodePartition] = partition
	}
	return s.nodes.Send(&si.NodeRequest{Nodes: nodes})
}

// addNodes registers two nodes of 4 cores. On the first one an allocation of 1 core runs already, and others use 1.
func (s *shim) addNodes() error {
	err := s.sendNodes(&si.NodeInfo{
		NodeID: "node-1", Action: si.NodeInfo_CREATE, SchedulableResource: vcores(4000), OccupiedResource: vcores(1000),
		ExistingAllocations: []*si.Allocation{{
			AllocationKey: "existing", AllocationID: "existing", ApplicationID: app, PartitionName: partition, NodeID: "node-1",
			ResourcePerAlloc: vcores(1000),
		}},
	},
		&si.NodeInfo{NodeID: "node-2", Action: si.NodeInfo_CREATE_DRAIN, SchedulableResource: vcores(4000),
			OccupiedResource: vcores(0)})
	if err != nil {
		return err
	}
	for waiting := 2; waiting > 0; {
		m, err := s.nodes.Recv()
		if err != nil {
			return err
		}
		if len(m.Rejected) > 0 {
			return fmt.Errorf("rejected: %v", m.Rejected)
		}
		waiting -= len(m.Accepted)
	}
	return nil
}

// reportAllocations reports one more allocation that runs, in a message of its own, and one without resources, which is
// rejected.
func (s *shim) reportAllocations() error {
	err := s.allocations.Send(&si.AllocationRequest{Allocations: []*si.Allocation{
		{AllocationKey: "reported", AllocationID: "reported", ApplicationID: app, PartitionName: partition, NodeID: "node-2",
			ResourcePerAlloc: vcores(4000)},
		{AllocationKey: "lost", AllocationID: "lost", ApplicationID: app, PartitionName: partition, NodeID: "node-2"},
	}})
	if err != nil {
		return err
	}
	a, err := s.expect(1, 0, 0, 1)
	if err != nil {
		return err
	}
	if a.allocated[0].AllocationKey != "reported" || a.refused[0].AllocationKey != "lost" {
		return fmt.Errorf("other answers: %v", a)
	}
	return nil
}

// placeAsks asks for the 2 cores that are left, which shows that what runs and what others use was counted: the
// third ask stays pending.
func (s *shim) placeAsks() error {
	if err := s.sendAsks(ask("a", 1000, 0), ask("b", 1000, 0), ask("too-much", 2000, 0)); err != nil {
		return err
	}
	a, err := s.expect(2, 0, 0, 0)
	if err != nil {
		return err
	}
	for _, x := range a.allocated {
		if x.AllocationKey == "too-much" || x.NodeID != "node-1" {
			return fmt.Errorf("other allocations: %v", a)
		}
	}
	return nil
}

// releaseByID releases an allocation by its ID; the answer names it.
func (s *shim) releaseByID() error {
	if err := s.sendReleases(&si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{release("a", si.TerminationType_STOPPED_BY_RM)},
	}); err != nil {
		return err
	}
	a, err := s.expect(0, 1, 0, 0)
	if err != nil {
		return err
	}
	if x := a.released[0]; x.AllocationID != "a" || x.TerminationType != si.TerminationType_STOPPED_BY_RM {
		return fmt.Errorf("another release: %v", x)
	}
	return nil
}

// cancelAsk cancels the ask that is pending. The same for an allocation leaves it: b is released later. That the ask
// is gone shows in the place of another one that would be after it.
func (s *shim) cancelAsk() error {
	if err := s.sendReleases(&si.AllocationReleasesRequest{AllocationAsksToRelease: []*si.AllocationAskRelease{
		{PartitionName: partition, ApplicationID: app, AllocationKey: "too-much"},
		{PartitionName: partition, ApplicationID: app, AllocationKey: "b"},
	}}); err != nil {
		return err
	}
	if err := s.sendReleases(&si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{release("existing", si.TerminationType_STOPPED_BY_RM)},
	}); err != nil {
		return err
	}
	if err := s.sendAsks(ask("c", 2000, 0)); err != nil {
		return err
	}
	a, err := s.expect(1, 1, 0, 0)
	if err != nil {
		return err
	}
	if a.released[0].AllocationID != "existing" || a.allocated[0].AllocationKey != "c" {
		return fmt.Errorf("other answers: %v", a)
	}
	return nil
}

// rejections sends asks that must be rejected, in the list for asks.
func (s *shim) rejections() error {
	other, many := ask("other", 1000, 0), ask("many", 1000, 0)
	other.ApplicationID, many.MaxAllocations = "unknown", 2
	if err := s.sendAsks(other, many, ask("nothing", 0, 0)); err != nil {
		return err
	}
	a, err := s.expect(0, 0, 3, 0)
	if err != nil {
		return err
	}
	for _, x := range a.rejected {
		if x.AllocationKey == "" || x.ApplicationID == "" || x.Reason == "" {
			return fmt.Errorf("incomplete rejection: %v", x)
		}
	}
	return nil
}

// preempt asks for 2 cores with a higher priority: c has 2 cores and is the victim. The ask is placed when the shim
// has confirmed, by the ID, that the victim is gone.
func (s *shim) preempt() error {
	if err := s.sendAsks(ask("urgent", 2000, 10)); err != nil {
		return err
	}
	a, err := s.expect(0, 1, 0, 0)
	if err != nil {
		return err
	}
	victim := a.released[0]
	if victim.AllocationID != "c" || victim.TerminationType != si.TerminationType_PREEMPTED_BY_SCHEDULER {
		return fmt.Errorf("another victim: %v", victim)
	}
	if err := s.sendReleases(&si.AllocationReleasesRequest{
		AllocationAsksToRelease: []*si.AllocationAskRelease{{PartitionName: partition, ApplicationID: app,
			AllocationKey: victim.AllocationKey}},
		AllocationsToRelease: []*si.AllocationRelease{release(victim.AllocationID, victim.TerminationType)},
	}); err != nil {
		return err
	}
	if a, err = s.expect(1, 0, 0, 0); err != nil {
		return err
	}
	if a.allocated[0].AllocationKey != "urgent" {
		return fmt.Errorf("another allocation: %v", a.allocated[0])
	}
	return nil
}

// nodeNotReady makes node-2 empty and schedulable, but not ready: a later ask that fits node-1 is placed before the
// one that needs all of node-2, which is placed when the node is ready.
func (s *shim) nodeNotReady() error {
	if err := s.sendReleases(&si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
		release("reported", si.TerminationType_STOPPED_BY_RM), release("b", si.TerminationType_STOPPED_BY_RM),
	}}); err != nil {
		return err
	}
	if _, err := s.expect(0, 2, 0, 0); err != nil {
		return err
	}
	notReady := map[string]string{common.NodeReadyAttribute: "false"}
	if err := s.sendNodes(
		&si.NodeInfo{NodeID: "node-2", Action: si.NodeInfo_UPDATE, Attributes: notReady, SchedulableResource: vcores(5000)},
		&si.NodeInfo{NodeID: "node-2", Action: si.NodeInfo_DRAIN_TO_SCHEDULABLE},
		// The streams are not ordered. This node is answered, so what is before it has been read, too.
		&si.NodeInfo{NodeID: "node-3", Action: si.NodeInfo_CREATE, SchedulableResource: vcores(10)},
	); err != nil {
		return err
	}
	if _, err := s.nodes.Recv(); err != nil {
		return err
	}
	if err := s.sendAsks(ask("waits", 4500, 0), ask("later", 1000, 0)); err != nil {
		return err
	}
	a, err := s.expect(1, 0, 0, 0)
	if err != nil {
		return err
	}
	if x := a.allocated[0]; x.AllocationKey != "later" || x.NodeID != "node-1" {
		return fmt.Errorf("another allocation: %v", x)
	}
	if err := s.sendNodes(&si.NodeInfo{NodeID: "node-2", Action: si.NodeInfo_UPDATE,
		OccupiedResource: vcores(500)}); err != nil {
		return err
	}
	if a, err = s.expect(1, 0, 0, 0); err != nil {
		return err
	}
	if x := a.allocated[0]; x.AllocationKey != "waits" || x.NodeID != "node-2" {
		return fmt.Errorf("another allocation: %v", x)
	}
	return nil
}

// removeApplication removes the application, which releases what is left of it.
func (s *shim) removeApplication() error {
	err := s.applications.Send(&si.ApplicationRequest{Remove: []*si.RemoveApplicationRequest{{ApplicationID: app,
		PartitionName: partition}}})
	if err != nil {
		return err
	}
	_, err = s.expect(0, 3, 0, 0) // urgent, later and waits
	return err
}
