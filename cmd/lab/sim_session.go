package main

import (
	"context"
	"errors"
	"math"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// simulator is the ID of the simulated resource manager.
const simulator = "canopy-sim"

// simSession is a simulated resource manager and its scheduler.
type simSession struct {
	server *sim.Server  // nil: the scheduler is another process
	core   *coreProcess // that process if the replay kills it; else nil
	client *sim.Client

	forecasts  *replayForecasts // nil: none are made
	closeStore func() error     // of the recording of server
}

// simLifetimes are the lifetimes of a simulation: an application must not complete before its next ask is submitted.
func simLifetimes() lifecycle.Lifetimes {
	lifetimes := lifecycle.DefaultLifetimes()
	lifetimes.Completing = math.MaxInt64
	return lifetimes
}

// startSession starts a scheduler in this process and connects to it. clock is the clock of the
// scheduler; nil: the real time. forecasts are made of it; nil: none. It is recorded in a directory; empty: it is not.
func startSession(ctx context.Context, clock *sim.Clock, forecasts *replayForecasts, record string) (*simSession,
	error) {
	lifetimes := simLifetimes()
	opt := sim.ServerOptions{Loop: loop.Options{Lifetimes: &lifetimes}, OnEffects: forecasts.onEffects()}
	if clock != nil {
		opt.Loop.Now = clock.Now
	}
	closeStore := func() error { return nil }
	if record != "" {
		store, err := recording.Open(recording.Options{Dir: record, Canopy: version, Now: opt.Loop.Now})
		if err != nil {
			return nil, err
		}
		closeStore = store.Close
		opt.Loop.Recorder = func(partition string, core *scheduler.Core, opt objects.Options) loop.Recorder {
			return store.Recorder(partition, core, opt)
		}
	}
	server, err := sim.Serve(ctx, opt)
	if err != nil {
		return nil, errors.Join(err, closeStore())
	}
	client, err := sim.Dial(ctx, server.Address(), simulator)
	if err != nil {
		return nil, errors.Join(err, server.Close(), closeStore())
	}
	if forecasts != nil {
		forecasts.server = server
	}
	return &simSession{server: server, client: client, forecasts: forecasts, closeStore: closeStore}, nil
}

// connectSession connects to a scheduler in another process.
func connectSession(ctx context.Context, address string, access *cmdline.ClientAccess) (*simSession, error) {
	options, err := access.DialOptions(address)
	if err != nil {
		return nil, err
	}
	client, err := sim.Dial(ctx, address, simulator, options...)
	if err != nil {
		return nil, err
	}
	return &simSession{client: client}, nil
}

// startKilledSession starts a scheduler in another process and connects to it. The client kills it after every n
// answers and calls recovered after each recovery.
func startKilledSession(ctx context.Context, program string, n int, bounds queuesyaml.Options,
	recovered func(sim.Recovery)) (*simSession, error) {
	core, err := startCore(ctx, program, bounds)
	if err != nil {
		return nil, err
	}
	client, err := sim.Dial(ctx, core.GRPC, simulator)
	if err != nil {
		return nil, errors.Join(err, core.close())
	}
	client.KillEvery(n, core, recovered)
	return &simSession{core: core, client: client}, nil
}

func (p *simSession) close() error {
	err := p.client.Close()
	if p.core != nil {
		err = errors.Join(err, p.core.close())
	}
	if p.server != nil {
		err = errors.Join(err, p.server.Close(), p.closeStore())
	}
	return err
}
