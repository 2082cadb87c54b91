package rmproxy

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
)

// InProcess is the API for a shim that links the core (RMI-2, RMI-62). Update calls return at once;
// effects are delivered through the callback, one call at a time, in the order in which they
// occurred. The scheduling goroutine makes the calls and waits for their return. An error means
// that no part of the message was applied. ErrPendingLookupsFull means that the shim can send the
// message again later: 65,536 commands wait for users to be resolved, this message has more of
// them, and a caller that waited here could wait for itself.
//
// A callback may make Update calls. It must not call RegisterResourceManager, UpdateConfiguration
// or Stop, nor wait for the Cluster (snapshots, Explain): all of these wait for the callback. For
// the same reason the shim must not call them while it holds a lock that a callback takes.
type InProcess struct{ p *Proxy }

var _ api.SchedulerAPI = (*InProcess)(nil)

// InProcess returns the in-process API. The predicates and callbacks are those of the shim that
// registers (RMI-60).
func (p *Proxy) InProcess() *InProcess { return &InProcess{p} }

// RegisterResourceManager registers a shim, or registers it again.
func (d *InProcess) RegisterResourceManager(
	m *si.RegisterResourceManagerRequest, callback api.ResourceManagerCallback,
) (*si.RegisterResourceManagerResponse, error) {
	if callback == nil {
		return nil, fmt.Errorf("%w: there is no callback", ErrRequest)
	}
	open := func() *session { return newInProcessSession(d.p, m.RmID, callback) }
	if err := d.p.registerRM(inProcessClient, m, open,
		loop.Mode{Sync: true, Oracle: d.p.oracleOf, RecoveryQuiet: d.p.opt.RecoveryQuiet,
			PlacementsPerSecond: d.p.opt.PlacementsPerSecond}); err != nil {
		d.p.logRefusedRegistration(inProcessClient, m.GetRmID(), err)
		return nil, err
	}
	return &si.RegisterResourceManagerResponse{}, nil
}

// UpdateNode handles a message about nodes.
func (d *InProcess) UpdateNode(m *si.NodeRequest) error {
	return d.handle(m.GetRmID(), nodeStream, func(s *session) error { return s.handleNodes(m, nil) })
}

// UpdateApplication handles a message about applications.
func (d *InProcess) UpdateApplication(m *si.ApplicationRequest) error {
	return d.handle(m.GetRmID(), applicationStream, func(s *session) error { return s.handleApplications(m) })
}

// UpdateAllocation handles a message about asks and allocations.
func (d *InProcess) UpdateAllocation(m *si.AllocationRequest) error {
	return d.handle(m.GetRmID(), allocationStream, func(s *session) error { return s.handleAllocations(s.fromProto(m)) })
}

// handle handles a message of any kind (RMI-32). Messages are applied in the order of the calls. An error means that
// no part of the message was applied.
func (d *InProcess) handle(rm string, k streamKind, apply func(*session) error) error {
	s, err := d.p.session(rm, k.String())
	if err != nil {
		return err
	}
	if s.shim == nil {
		return errOtherAPI(s.rm, "over gRPC")
	}
	if err := apply(s); err != nil {
		return fmt.Errorf("received %s, but %w", k, err)
	}
	return nil
}

// UpdateConfiguration puts a new configuration in force (CFG-95, RMI-66).
func (d *InProcess) UpdateConfiguration(m *si.UpdateConfigurationRequest) error {
	const failed = "update of configuration failed: %w"
	if s := d.p.current(); s != nil && s.shim == nil && s.rm == m.GetRmID() {
		return fmt.Errorf(failed, errOtherAPI(s.rm, "over gRPC"))
	}
	if err := d.p.updateConfiguration(m); err != nil {
		return fmt.Errorf(failed, err)
	}
	return nil
}

// Stop ends the scheduler (RMI-68). It waits for the last callback; later calls fail with
// ErrClosed.
func (d *InProcess) Stop() {
	d.p.Close()
	d.p.engine.End()
}
