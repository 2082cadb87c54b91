package rmproxy

import (
	"context"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// InProcess is the door for a shim that links the core. Update calls return at once;
// what follows from them is told through the callback, from one goroutine, in the
// order in which it became true. Decisions wait until the callback has returned.
//
// RegisterResourceManager, UpdateConfiguration and Stop must not be called from a
// callback. The others may be.
type InProcess struct{ p *Proxy }

var _ api.SchedulerAPI = (*InProcess)(nil)

// NewInProcess returns a door that asks the shim about every placement.
func NewInProcess(opt Options) *InProcess {
	opt.Loop.TellFirst = true
	return &InProcess{build(opt, func(p *Proxy) scheduler.Oracle { return oracle{p} })}
}

// Cluster is the partitions, for whoever reads them.
func (d *InProcess) Cluster() *loop.Cluster { return d.p.Cluster() }

// Registration says who is registered.
func (d *InProcess) Registration() (Registration, bool) { return d.p.Registration() }

// RegisterResourceManager registers a shim, or registers it anew.
func (d *InProcess) RegisterResourceManager(
	m *si.RegisterResourceManagerRequest, callback api.ResourceManagerCallback,
) (*si.RegisterResourceManagerResponse, error) {
	if callback == nil {
		return nil, fmt.Errorf("%w: there is no callback", ErrRequest)
	}
	open := func(old *session) *session { return newCalled(d.p, m.RmID, callback, old) }
	if err := d.p.enlist(m, open); err != nil {
		return nil, err
	}
	return &si.RegisterResourceManagerResponse{}, nil
}

// UpdateNode takes a message about nodes.
func (d *InProcess) UpdateNode(m *si.NodeRequest) error { return d.take(m, nodes) }

// UpdateApplication takes a message about applications.
func (d *InProcess) UpdateApplication(m *si.ApplicationRequest) error { return d.take(m, applications) }

// UpdateAllocation takes a message about asks and allocations.
func (d *InProcess) UpdateAllocation(m *si.AllocationRequest) error { return d.take(m, allocations) }

func (d *InProcess) take(m request, k kind) error {
	s, err := d.p.session(m.GetRmID(), k.String())
	if err != nil {
		return err
	}
	s.take(m)
	return nil
}

// UpdateConfiguration puts a new configuration in force.
func (d *InProcess) UpdateConfiguration(m *si.UpdateConfigurationRequest) error {
	if err := d.p.configure(m); err != nil {
		return fmt.Errorf("update of configuration failed: %w", err)
	}
	return nil
}

// Stop ends the scheduler.
func (d *InProcess) Stop() { d.p.Close() }

// caller tells a session's effects by calling the shim.
type caller struct {
	callback api.ResourceManagerCallback
	done     chan struct{} // closed after the last call
}

// newCalled returns the session of an in-process door. The first call waits for the
// last of the session before.
func newCalled(p *Proxy, rm string, callback api.ResourceManagerCallback, old *session) *session {
	s := &session{
		p: p, rm: rm, log: p.log.With(zap.String("rm", rm)), borrows: true,
		caller: &caller{callback, make(chan struct{})},
	}
	s.over, s.end = context.WithCancelCause(context.Background())
	box := newOutbox()
	for k := range s.boxes {
		s.boxes[k] = box
	}
	p.running.Go(func() {
		defer close(s.caller.done)
		if old != nil {
			<-old.caller.done
		}
		s.call(box)
	})
	return s
}

// call tells what is in the outbox until the session ends.
func (s *session) call(box *outbox) {
	for !s.ended() {
		batch := box.take()
		if batch == nil {
			select {
			case <-box.bell:
			case <-s.over.Done():
			}
			continue
		}
		var err error
		switch m := s.message(batch).(type) {
		case *si.NodeResponse:
			err = s.caller.callback.UpdateNode(m)
		case *si.ApplicationResponse:
			err = s.caller.callback.UpdateApplication(m)
		case *si.AllocationResponse:
			err = s.caller.callback.UpdateAllocation(m)
		}
		if err != nil {
			// It was told; that the shim could make no use of it does not make it untrue.
			s.log.Error("the shim failed to take an answer", zap.Error(err))
		}
		box.done()
	}
}
