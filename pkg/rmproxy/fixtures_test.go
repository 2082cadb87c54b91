package rmproxy

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/hints"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// testOptions are the options of a Proxy and of its scheduler.
type testOptions struct {
	Loop           loop.Options
	Log            *zap.Logger
	InitialConfig  *reload.Proposal
	IgnoreRMConfig bool
	Directories    engine.Directories
	StrictClasses  bool
	OnEffects      func(partition string, effects []scheduler.Effect)
	OnAPIRejected  func(e scheduler.Effect)
	Limits         Limits
	Reload         reload.Options
	Hints          hints.Options
}

// newTestProxy returns a Proxy whose scheduler runs.
func newTestProxy(opt testOptions) *Proxy {
	e := engine.New(engine.Options{
		Loop: opt.Loop, Log: opt.Log, Reload: opt.Reload, Directories: opt.Directories, OnEffects: opt.OnEffects,
	})
	p := New(e, Options{
		Log: opt.Log, IgnoreRMConfig: opt.IgnoreRMConfig, StrictClasses: opt.StrictClasses,
		OnAPIRejected: opt.OnAPIRejected, Limits: opt.Limits, Hints: opt.Hints,
	})
	e.Start(opt.InitialConfig)
	return p
}

// newRequest returns an empty message of a stream.
func newRequest(k streamKind) *request { return &request{kind: k} }

// handle handles a message of the generated code.
func (s *session) handle(m proto.Message) error {
	switch m := m.(type) {
	case *si.NodeRequest:
		return s.handleNodes(m, nil)
	case *si.ApplicationRequest:
		return s.handleApplications(m)
	}
	return s.handleAllocations(s.fromProto(m.(*si.AllocationRequest)))
}

func newTestInProcess(opt testOptions) *InProcess { return newTestProxy(opt).InProcess() }

// registerRemote registers an RM as one with streams.
func (p *Proxy) registerRemote(m *si.RegisterResourceManagerRequest, open func() *session) error {
	return p.registerRM(inProcessClient, m, open, loop.Mode{})
}

// stop ends the Proxy and its scheduler.
func (p *Proxy) stop() { p.InProcess().Stop() }

// Reloads is the Reloader of the scheduler.
func (p *Proxy) Reloads() *reload.Reloader { return p.engine.Reloads() }

// Reloads is the Reloader of the scheduler.
func (d *InProcess) Reloads() *reload.Reloader { return d.p.Reloads() }

// Cluster is the partitions.
func (d *InProcess) Cluster() *loop.Cluster { return d.p.Cluster() }

// Registration is the registered RM.
func (d *InProcess) Registration() (Registration, bool) { return d.p.Registration() }
