package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// shim has the streams, which stay open until the end.
type shim struct {
	nodes        si.Scheduler_UpdateNodeClient
	applications si.Scheduler_UpdateApplicationClient
	allocations  si.Scheduler_UpdateAllocationClient
}

// open opens the streams and names the resource manager on each.
func open(ctx context.Context, client si.SchedulerClient) (*shim, error) {
	s := &shim{}
	var failed [3]error
	s.nodes, failed[0] = client.UpdateNode(ctx)
	s.applications, failed[1] = client.UpdateApplication(ctx)
	s.allocations, failed[2] = client.UpdateAllocation(ctx)
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	return s, errors.Join(
		s.nodes.Send(&si.NodeRequest{RmID: rmID}), s.applications.Send(&si.ApplicationRequest{RmID: rmID}),
		s.allocations.Send(&si.AllocationRequest{RmID: rmID}),
	)
}

// close half-closes the streams, and waits until the scheduler has ended them: then another resource manager may
// register at once. No answer may come that was not expected.
func (s *shim) close() error {
	if err := errors.Join(s.nodes.CloseSend(), s.applications.CloseSend(), s.allocations.CloseSend()); err != nil {
		return err
	}
	if answer, err := s.allocations.Recv(); err != io.EOF {
		return fmt.Errorf("after the last message: %v, %v", answer, err)
	}
	for {
		if _, err := s.applications.Recv(); err == io.EOF { // states of the application are not expected one by one
			return nil
		} else if err != nil {
			return err
		}
	}
}

// answer is a message from the stream of allocations.
type answer struct {
	allocated []*si.Allocation
	released  []*si.AllocationRelease
	rejected  []*si.RejectedAllocationAsk // asks
	refused   []*si.RejectedAllocation    // reported allocations
}

// expect waits for so many answers of each kind. The scheduler may batch them as it likes; more than are expected
// are an error.
func (s *shim) expect(allocated, released, rejected, refused int) (*answer, error) {
	a := &answer{}
	for len(a.allocated) < allocated || len(a.released) < released || len(a.rejected) < rejected ||
		len(a.refused) < refused {
		m, err := s.allocations.Recv()
		if err != nil {
			return nil, err
		}
		a.allocated, a.released = append(a.allocated, m.New...), append(a.released, m.Released...)
		a.rejected, a.refused = append(a.rejected, m.Rejected...), append(a.refused, m.RejectedAllocations...)
		if len(m.ReleasedAsks) > 0 {
			return nil, fmt.Errorf("asks are released: %v", m.ReleasedAsks)
		}
	}
	if len(a.allocated) > allocated || len(a.released) > released || len(a.rejected) > rejected ||
		len(a.refused) > refused {
		return nil, fmt.Errorf("more than expected: %v", a)
	}
	for _, x := range a.allocated {
		if x.AllocationID == "" {
			return nil, fmt.Errorf("allocation %s has no allocationID", x.AllocationKey)
		}
		fmt.Printf("allocated: %s (%s) on %s\n", x.AllocationKey, x.AllocationID, x.NodeID)
	}
	for _, x := range a.released {
		if x.AllocationID == "" || x.PartitionName != partition || x.ApplicationID != app {
			return nil, fmt.Errorf("incomplete release: %v", x)
		}
		fmt.Printf("released: %s (%s), %s\n", x.AllocationKey, x.AllocationID, x.TerminationType)
	}
	for _, x := range a.rejected {
		fmt.Printf("rejected ask: %s: %s\n", x.AllocationKey, x.Reason)
	}
	for _, x := range a.refused {
		fmt.Printf("rejected allocation: %s: %s\n", x.AllocationKey, x.Reason)
	}
	return a, nil
}
