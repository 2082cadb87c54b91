package main

import (
	"context"
	"errors"
	"math"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/sim"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// simulator is the name that the simulated resource manager registers under.
const simulator = "canopy-sim"

// pair is a simulated resource manager and, unless it runs elsewhere, its scheduler.
type pair struct {
	server *sim.Server // nil: it runs elsewhere
	client *sim.Client
}

// startPair starts a scheduler in this process and connects to it. clock is what the
// scheduler goes by; nil: the real time.
func startPair(ctx context.Context, clock *sim.Clock) (*pair, error) {
	// The applications of a demo stay, however long it takes until they ask again.
	patient := objects.DefaultLifetimes()
	patient.Completing = math.MaxInt64
	opt := rmproxy.Options{Loop: loop.Options{Lifetimes: &patient}}
	if clock != nil {
		opt.Loop.Now = clock.Now
	}
	server, err := sim.Serve(ctx, rmproxy.New(opt))
	if err != nil {
		return nil, err
	}
	client, err := sim.Dial(ctx, server.Address(), simulator)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &pair{server: server, client: client}, nil
}

// joinScheduler connects to a scheduler that runs elsewhere.
func joinScheduler(ctx context.Context, address string) (*pair, error) {
	client, err := sim.Dial(ctx, address, simulator)
	if err != nil {
		return nil, err
	}
	return &pair{client: client}, nil
}

func (p *pair) close() error {
	err := p.client.Close()
	if p.server != nil {
		err = errors.Join(err, p.server.Close())
	}
	return err
}
