package bench

import (
	"fmt"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// rmID is the ID of the benchmark's resource manager.
const rmID = "canopy-bench"

// messageBatch is the number of entries per message while loading.
const messageBatch = 1000

// apiClient is a client of the scheduler interface that passes answers to a recorder. It is for one
// goroutine.
type apiClient interface {
	sendNode(*si.NodeRequest) error
	sendApplication(*si.ApplicationRequest) error
	sendAllocation(*si.AllocationRequest) error
	// sendAsks sends the asks from first to before next of the stream in one message, with releases of
	// the given keys.
	sendAsks(first, next int, ends []int) error
	check() error // audits the accounting of the scheduler
	close() error
}

func registration(s *stream) *si.RegisterResourceManagerRequest {
	return &si.RegisterResourceManagerRequest{RmID: rmID, Version: "1", PolicyGroup: "queues", Config: s.config}
}

// nodeMessages register all nodes, drained.
func (s *stream) nodeMessages() (all []*si.NodeRequest) {
	for some := range slices.Chunk(s.nodes, messageBatch) {
		m := &si.NodeRequest{RmID: rmID}
		for _, n := range some {
			m.Nodes = append(m.Nodes, &si.NodeInfo{
				NodeID: string(n.ID), Action: si.NodeInfo_CREATE_DRAIN, SchedulableResource: resourceOf(n.Capacity),
				Attributes: n.Attributes,
			})
		}
		all = append(all, m)
	}
	return all
}

// openMessage makes all nodes schedulable at once.
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

// Answers, as every client passes them to the recorder.

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

// onRejected handles a rejected ask. The caller must hold the lock.
func (e *recorder) onRejected(key, reason string) {
	if len(key) >= len(sentinel) && key[:len(sentinel)] == sentinel {
		e.rejectedSentinels++
		return
	}
	e.fail("ask %s was rejected: %s", key, reason)
}
