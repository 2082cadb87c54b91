package bench

import (
	"context"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/sim"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// inProcess is the door for shims that link the core. The shim agrees to every placement.
type inProcess struct {
	*rmproxy.InProcess
	stream *stream
}

func openInProcess(s *stream, e *ear) (door, error) {
	d := inProcess{rmproxy.NewInProcess(rmproxy.Options{Loop: loop.Options{Lifetimes: patient()}}), s}
	if _, err := d.RegisterResourceManager(registration(s), shim{ear: e}); err != nil {
		d.Stop()
		return nil, err
	}
	return d, nil
}

func (d inProcess) sendNode(m *si.NodeRequest) error               { return d.UpdateNode(m) }
func (d inProcess) sendApplication(m *si.ApplicationRequest) error { return d.UpdateApplication(m) }
func (d inProcess) sendAllocation(m *si.AllocationRequest) error   { return d.UpdateAllocation(m) }

func (d inProcess) sendAsks(first, next int, ends []int) error {
	m := &si.AllocationRequest{RmID: rm}
	for i := first; i < next; i++ {
		m.Allocations = append(m.Allocations, d.stream.askMessage(i))
	}
	if len(ends) > 0 {
		m.Releases = &si.AllocationReleasesRequest{}
	}
	for _, i := range ends {
		m.Releases.AllocationsToRelease = append(m.Releases.AllocationsToRelease, d.stream.releaseMessage(i))
	}
	return d.UpdateAllocation(m)
}

func (d inProcess) check() error { return checkBooks(d.Cluster()) }

func (d inProcess) close() error {
	d.Stop()
	return nil
}

// checkBooks has a scheduler recount its books.
func checkBooks(c *loop.Cluster) error {
	l, ok := c.Partition(sim.Partition)
	if !ok {
		return fmt.Errorf("there is no partition %s", sim.Partition)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return l.Check(ctx)
}

// shim hears of allocations and agrees to everything.
type shim struct {
	api.ResourceManagerCallback // what nobody calls
	ear                         *ear
}

// UpdateAllocation is told of allocations, releases and refusals.
func (s shim) UpdateAllocation(m *si.AllocationResponse) error {
	s.ear.lock()
	defer s.ear.unlock()
	for _, x := range m.Released {
		s.ear.allocation(numberOf(x.AllocationKey), false)
	}
	for _, x := range m.New {
		s.ear.allocation(numberOf(x.AllocationKey), true)
	}
	for _, x := range m.RejectedAllocations {
		s.ear.hearRefused(x.AllocationKey, x.Reason)
	}
	return nil
}

// UpdateApplication is told of applications.
func (s shim) UpdateApplication(m *si.ApplicationResponse) error {
	s.ear.hearApplications(m)
	return nil
}

// UpdateNode is told of nodes.
func (s shim) UpdateNode(m *si.NodeResponse) error {
	s.ear.hearNodes(m)
	return nil
}

// Predicates agrees.
func (shim) Predicates(*si.PredicatesArgs) error { return nil }
