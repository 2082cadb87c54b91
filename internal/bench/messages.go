package bench

import (
	"fmt"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/sim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// rmID is the name that the benchmark registers under.
const rmID = "canopy-bench"

// messageBatch is how many entries go into a message while loading.
const messageBatch = 1000

// apiClient is a way to a scheduler of its own, through the interface. What is heard goes to
// the ear that it was opened with. It is for one goroutine.
type apiClient interface {
	sendNode(*si.NodeRequest) error
	sendApplication(*si.ApplicationRequest) error
	sendAllocation(*si.AllocationRequest) error
	// sendAsks sends those from first to before next of the stream in one message, with
	// releases of what the keys name.
	sendAsks(first, next int, ends []int) error
	check() error // the books of the scheduler
	close() error
}

func registration(s *stream) *si.RegisterResourceManagerRequest {
	return &si.RegisterResourceManagerRequest{RmID: rmID, Version: "1", PolicyGroup: "queues", Config: s.config}
}

// nodeMessages offer all nodes, closed.
func (s *stream) nodeMessages() (all []*si.NodeRequest) {
	for some := range slices.Chunk(s.nodes, messageBatch) {
		m := &si.NodeRequest{RmID: rmID}
		for _, n := range some {
			m.Nodes = append(m.Nodes, &si.NodeInfo{
				NodeID: string(n.ID), Action: si.NodeInfo_CREATE_DRAIN, SchedulableResource: resourceOf(n.Capacity),
			})
		}
		all = append(all, m)
	}
	return all
}

// openMessage takes all nodes into use at once.
func (s *stream) openMessage() *si.NodeRequest {
	m := &si.NodeRequest{RmID: rmID}
	for _, n := range s.nodes {
		m.Nodes = append(m.Nodes, &si.NodeInfo{NodeID: string(n.ID), Action: si.NodeInfo_DRAIN_TO_SCHEDULABLE})
	}
	return m
}

func (s *stream) appMessages() (all []*si.ApplicationRequest) {
	for some := range slices.Chunk(s.apps, messageBatch) {
		m := &si.ApplicationRequest{RmID: rmID}
		for _, a := range some {
			m.New = append(m.New, &si.AddApplicationRequest{
				ApplicationID: string(a.ID), QueueName: string(a.Queue), PartitionName: sim.Partition,
				Ugi: &si.UserGroupInformation{User: a.User},
			})
		}
		all = append(all, m)
	}
	return all
}

func (s *stream) askMessage(i int) *si.Allocation {
	return &si.Allocation{
		AllocationKey: string(s.key(i)), ApplicationID: string(s.appOf(i).ID), PartitionName: sim.Partition,
		ResourcePerAlloc: resourceOf(s.amounts(i)), Priority: s.draws[i].priority, AllocationTags: s.tags(i),
	}
}

func (s *stream) releaseMessage(i int) *si.AllocationRelease {
	return &si.AllocationRelease{
		AllocationKey: string(s.key(i)), ApplicationID: string(s.appOf(i).ID), PartitionName: sim.Partition,
		TerminationType: si.TerminationType_STOPPED_BY_RM,
	}
}

func sentinelMessage(n int) *si.AllocationRequest {
	return &si.AllocationRequest{RmID: rmID, Allocations: []*si.Allocation{{
		AllocationKey: fmt.Sprintf("%s-%d", sentinel, n), ApplicationID: string(sentinelApp),
		PartitionName: sim.Partition, ResourcePerAlloc: &si.Resource{
			Resources: map[string]*si.Quantity{resources.VCore: {Value: 1}},
		},
	}}}
}

func resourceOf(a resources.Amounts) *si.Resource {
	m := map[string]*si.Quantity{}
	for name, n := range a.All() {
		m[name] = &si.Quantity{Value: int64(n)}
	}
	return &si.Resource{Resources: m}
}

// The answers, as every door gives them to the ear.

func (e *recorder) onNodes(m *si.NodeResponse) {
	e.lock()
	defer e.unlock()
	e.nodes += len(m.Accepted)
	for _, x := range m.Rejected {
		e.fail("node %s was rejected: %s", x.NodeID, x.Reason)
	}
}

func (e *recorder) onApplications(m *si.ApplicationResponse) {
	e.lock()
	defer e.unlock()
	e.apps += len(m.Accepted)
	for _, x := range m.Rejected {
		e.fail("application %s was rejected: %s", x.ApplicationID, x.Reason)
	}
}

// onRejected is about an ask that was rejected. Requires: the ear is locked.
func (e *recorder) onRejected(key, reason string) {
	if len(key) >= len(sentinel) && key[:len(sentinel)] == sentinel {
		e.rejectedSentinels++
		return
	}
	e.fail("ask %s was rejected: %s", key, reason)
}
