package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// demoFlags configure the simulated tenants of a server (WEB-12).
type demoFlags struct {
	on   bool
	load float64
	seed uint64
}

// demoRetention is the time for which the demo shows ended applications: they are some dozens a minute.
const demoRetention = 15 * time.Minute

func (f *demoFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "demo", false, "run a simulated cluster of tenants, in real time, to look at")
	flags.Float64Var(&f.load, "demo-load", 1,
		fmt.Sprintf("what the tenants of --demo ask for, in multiples of an almost full cluster; %v to %v", demo.MinLiveLoad,
			demo.MaxLiveLoad))
	flags.Uint64Var(&f.seed, "demo-seed", 1, "seed of the jobs of --demo")
}

// check reports flags that do not fit each other.
func (f *demoFlags) check(flags *pflag.FlagSet, config string) error {
	var wrong []error
	for _, name := range []string{"demo-load", "demo-seed"} {
		if flags.Changed(name) && !f.on {
			wrong = append(wrong, fmt.Errorf("--%s needs --demo", name))
		}
	}
	if f.on && config != "" {
		wrong = append(wrong, errors.New("--demo brings its own queues: leave out --config"))
	}
	if !(f.load >= demo.MinLiveLoad && f.load <= demo.MaxLiveLoad) { // NaN too
		wrong = append(wrong,
			fmt.Errorf("--demo-load is %v, and must be from %v to %v", f.load, demo.MinLiveLoad, demo.MaxLiveLoad))
	}
	return errors.Join(wrong...)
}

// lifetimes are the lifetimes of applications for the demo. What the user has set stays.
func (f *demoFlags) lifetimes(l lifecycle.Lifetimes) lifecycle.Lifetimes {
	d := lifecycle.DefaultLifetimes()
	if f.on && l.Completed == d.Completed {
		l.Completed = demoRetention
	}
	if f.on && l.Rejected == d.Rejected {
		l.Rejected = demoRetention
	}
	return l
}

// run runs the demo in the background, if there is one, until ctx ends. wait waits for its end; failed gets its error.
func (f *demoFlags) run(ctx context.Context, running runningScheduler, log *zap.Logger,
	failed chan<- error) (wait func()) {
	server, alone := running.(*canopy.Server) // check refuses --ha
	if !f.on || !alone {
		return func() {}
	}
	log.Info("the demo runs: open its page in a browser",
		zap.String("page", fmt.Sprintf("http://%s/", server.HTTPAddress())), zap.Float64("load", f.load))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := demo.RunLiveDemo(ctx, server.Scheduler(), demo.LiveOptions{Load: f.load, Seed: f.seed}); err != nil {
			failed <- err
		}
	}()
	return func() { <-done }
}
