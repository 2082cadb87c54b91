package rmproxy

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// InProcess is the door for a shim that links the core. Update calls return at once;
// what follows from them is told through the callback, one call at a time, in the order
// in which it became true. The scheduler itself calls, and does nothing else until the
// callback has returned. An error means that nothing of the message was taken. ErrPendingLookupsFull says that
// it can be sent again later: 65,536 commands wait for users to be looked up, this message
// has some that would, too, and to make the caller wait could make it wait for itself.
//
// A callback may make Update calls. It must not call RegisterResourceManager,
// UpdateConfiguration or Stop, nor wait for the Cluster (snapshots, Why), because all of
// these wait for the callback. For the same reason nobody may do so while holding a lock
// that a callback takes.
type InProcess struct{ p *Proxy }

var _ api.SchedulerAPI = (*InProcess)(nil)

// NewInProcess returns a door that asks the shim about every placement.
func NewInProcess(opt Options) *InProcess {
	opt.Loop.SyncDelivery = true
	return &InProcess{newProxy(opt, func(p *Proxy) scheduler.Oracle { return oracle{p} })}
}

// Cluster is the partitions, for whoever reads them.
func (d *InProcess) Cluster() *loop.Cluster { return d.p.Cluster() }

// Reloads puts configurations in force, whoever wants them, and remembers them. For a
// callback the same holds as for UpdateConfiguration.
func (d *InProcess) Reloads() *reload.Reloader { return d.p.Reloads() }

// Registration says who is registered.
func (d *InProcess) Registration() (Registration, bool) { return d.p.Registration() }

// RegisterResourceManager registers a shim, or registers it anew.
func (d *InProcess) RegisterResourceManager(
	m *si.RegisterResourceManagerRequest, callback api.ResourceManagerCallback,
) (*si.RegisterResourceManagerResponse, error) {
	if callback == nil {
		return nil, fmt.Errorf("%w: there is no callback", ErrRequest)
	}
	open := func() *session { return newInProcessSession(d.p, m.RmID, callback) }
	if err := d.p.registerRM(m, open); err != nil {
		return nil, err
	}
	return &si.RegisterResourceManagerResponse{}, nil
}

// UpdateNode takes a message about nodes.
func (d *InProcess) UpdateNode(m *si.NodeRequest) error { return d.handle(m, nodeStream) }

// UpdateApplication takes a message about applications.
func (d *InProcess) UpdateApplication(m *si.ApplicationRequest) error {
	return d.handle(m, applicationStream)
}

// UpdateAllocation takes a message about asks and allocations.
func (d *InProcess) UpdateAllocation(m *si.AllocationRequest) error {
	return d.handle(m, allocationStream)
}

func (d *InProcess) handle(m request, k streamKind) error {
	s, err := d.p.session(m.GetRmID(), k.String())
	if err != nil {
		return err
	}
	if err := s.handle(m); err != nil {
		return fmt.Errorf("received %s, but %w", k, err)
	}
	return nil
}

// UpdateConfiguration puts a new configuration in force.
func (d *InProcess) UpdateConfiguration(m *si.UpdateConfigurationRequest) error {
	if err := d.p.updateConfiguration(m); err != nil {
		return fmt.Errorf("update of configuration failed: %w", err)
	}
	return nil
}

// Stop ends the scheduler.
func (d *InProcess) Stop() { d.p.Close() }
