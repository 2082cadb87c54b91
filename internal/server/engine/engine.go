package engine

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Options configure an Engine. The zero value is valid.
type Options struct {
	Loop        loop.Options   // of the partitions; Now is the clock of everything
	Log         *zap.Logger    // nil: no log
	Reload      reload.Options // history of configurations; Now, Log and NodeCapacity are set by New
	Directories Directories    // resolve users without groups; nil: such a user has one group of the same name

	// OnEffects is called with all effects of the partitions, in order for each partition, before
	// they are delivered to the resource manager. It must not block. nil: not called.
	OnEffects func(partition string, effects []scheduler.Effect)
}

// Engine is a running scheduler. It is safe for concurrent use after Start.
type Engine struct {
	opt     Options
	log     *zap.Logger
	cluster *loop.Cluster
	reloads *reload.Reloader
	newSink func(partition string) loop.Sink

	ctx    context.Context // ends with the Engine
	cancel context.CancelFunc

	directories atomic.Pointer[map[string]Directory] // by partition, of the configuration in force
}

// New returns an Engine without partitions.
func New(opt Options) *Engine {
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	if opt.Loop.Now == nil {
		opt.Loop.Now = time.Now
	}
	e := &Engine{opt: opt, log: opt.Log, newSink: func(string) loop.Sink { return discard{} }}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.cluster = loop.NewCluster(opt.Loop, e.sinkOf, nil)
	return e
}

// Connect sets what delivers the effects of each partition. Requires: Start was not called.
func (e *Engine) Connect(newSink func(partition string) loop.Sink) { e.newSink = newSink }

// Start puts the first configuration in force; nil: the embedded default. It must be called once, before
// any other use.
func (e *Engine) Start(first *reload.Proposal) {
	if first == nil {
		first = reload.Default()
	}
	opt := e.opt.Reload
	opt.Now, opt.Log, opt.NodeCapacity = e.opt.Loop.Now, e.log, e.nodeCapacity
	e.reloads = reload.New(configured{e}, first, opt)
}

// Cluster is the partitions.
func (e *Engine) Cluster() *loop.Cluster { return e.cluster }

// Reloads is the Reloader, which puts configurations of every source in force and keeps their history.
func (e *Engine) Reloads() *reload.Reloader { return e.reloads }

// Now is the time of the clock.
func (e *Engine) Now() time.Time { return e.opt.Loop.Now() }

// End stops all partitions and waits until their effects are delivered. A reload that waits is
// cancelled. Further calls only wait. Sinks must not call it.
func (e *Engine) End() {
	e.cancel()
	e.cluster.End()
}

// sinkOf is called once for each partition.
func (e *Engine) sinkOf(partition string) loop.Sink {
	sink := e.newSink(partition)
	if e.opt.OnEffects == nil {
		return sink
	}
	return observedSink{sink, partition, e.opt.OnEffects}
}

// observedSink calls Options.OnEffects before its Sink.
type observedSink struct {
	loop.Sink
	partition string
	onEffects func(partition string, effects []scheduler.Effect)
}

// Deliver is part of loop.Sink.
func (s observedSink) Deliver(effects []scheduler.Effect) {
	s.onEffects(s.partition, effects)
	s.Sink.Deliver(effects)
}

// discard is the Sink of an Engine that was not connected.
type discard struct{}

// Deliver is part of loop.Sink.
func (discard) Deliver([]scheduler.Effect) {}
