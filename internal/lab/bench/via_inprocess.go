package bench

import (
	"context"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// inProcessClient uses the in-process API. Its callback accepts every placement.
type inProcessClient struct {
	*rmproxy.InProcess
	cluster *loop.Cluster
	stream  *stream
}

func openInProcess(s *stream, rec *recorder) (apiClient, error) {
	e := engine.New(engine.Options{Loop: loop.Options{Lifetimes: neverCompleting()}})
	d := inProcessClient{rmproxy.New(e, rmproxy.Options{}).InProcess(), e.Cluster(), s}
	e.Start(nil)
	if _, err := d.RegisterResourceManager(registration(s), shim{recorder: rec}); err != nil {
		d.Stop()
		return nil, err
	}
	return d, nil
}

func (d inProcessClient) sendNode(m *si.NodeRequest) error { return d.UpdateNode(m) }
func (d inProcessClient) sendApplication(m *si.ApplicationRequest) error {
	return d.UpdateApplication(m)
}
func (d inProcessClient) sendAllocation(m *si.AllocationRequest) error { return d.UpdateAllocation(m) }

func (d inProcessClient) sendAsks(first, next int, ends []int) error {
	m := &si.AllocationRequest{RmID: rmID}
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

func (d inProcessClient) check() error { return checkAccounting(d.cluster) }

func (d inProcessClient) close() error {
	d.Stop()
	return nil
}

// checkAccounting audits the accounting of a scheduler.
func checkAccounting(c *loop.Cluster) error {
	l, ok := c.Partition(sim.Partition)
	if !ok {
		return fmt.Errorf("there is no partition %s", sim.Partition)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	return l.Check(ctx)
}

// shim records allocations and accepts every placement.
type shim struct {
	api.ResourceManagerCallback // methods that are not called
	recorder                    *recorder
}

// UpdateAllocation records allocations, releases and rejections.
func (s shim) UpdateAllocation(m *si.AllocationResponse) error {
	s.recorder.lock()
	defer s.recorder.unlock()
	for _, x := range m.Released {
		s.recorder.record(numberOf(x.AllocationKey), false)
	}
	for _, x := range m.New {
		s.recorder.record(numberOf(x.AllocationKey), true)
	}
	for _, x := range m.RejectedAllocations {
		s.recorder.onRejected(x.AllocationKey, x.Reason)
	}
	return nil
}

// UpdateApplication records applications.
func (s shim) UpdateApplication(m *si.ApplicationResponse) error {
	s.recorder.onApplications(m)
	return nil
}

// UpdateNode records nodes.
func (s shim) UpdateNode(m *si.NodeResponse) error {
	s.recorder.onNodes(m)
	return nil
}

// UpdateContainerSchedulingState does nothing: no autoscaler is measured.
func (shim) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

// Predicates accepts every placement.
func (shim) Predicates(*si.PredicatesArgs) error { return nil }
