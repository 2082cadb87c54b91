package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/yunikorn-core/pkg/entrypoint"
	yklog "github.com/apache/yunikorn-core/pkg/log"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// The arms.
const (
	yunikorn = "yunikorn"
	canopy   = "canopy"
)

// startScheduler returns a scheduler that runs in this process until the process ends.
func startScheduler(arm string) (api.SchedulerAPI, error) {
	switch arm {
	case yunikorn:
		conf := zap.NewProductionConfig()
		conf.Level = zap.NewAtomicLevelAt(zap.ErrorLevel)
		yklog.InitializeLogger(zap.NewNop(), &conf)
		// Scheduling in its own goroutine, without the web application.
		return entrypoint.StartAllServicesWithParams(false, false).RMProxy, nil
	case canopy:
		e := engine.New(engine.Options{})
		scheduler := rmproxy.New(e, rmproxy.Options{}).InProcess()
		e.Start(nil)
		return scheduler, nil
	}
	return nil, fmt.Errorf("arm %q: is neither %s nor %s", arm, yunikorn, canopy)
}

// loadLimit bounds each step of loading. Reaching it is an error, not a measurement.
const loadLimit = 2 * time.Minute

// load sends everything but the opening of the nodes, and returns when all of it is processed.
// Applications and nodes are acknowledged. Asks are not, so a last one that must be rejected marks
// their end: messages about asks are handled in order. Waiting for an idle process would not work:
// yunikorn-core repeatedly tries asks that fit on no node.
//
// The draining nodes come last for the same reason: with them first, each of these attempts visits all
// nodes, and loading 50,000 asks takes minutes.
func load(scheduler api.SchedulerAPI, s *Stream, w Workload, callback *shim) error {
	if _, err := scheduler.RegisterResourceManager(s.Register, callback); err != nil {
		return err
	}
	for _, m := range s.Apps {
		if err := scheduler.UpdateApplication(m); err != nil {
			return err
		}
	}
	want := len(applications(w))
	if err := callback.await("applications", loadLimit, func() bool { return callback.apps == want }); err != nil {
		return err
	}
	if w.preempts() { // no ask is pending yet, and running allocations need their nodes
		return errors.Join(loadNodes(scheduler, s, w, callback),
			loadAllocations(scheduler, s.Running, w.Nodes*w.Cores, s.Sentinel, callback))
	}
	return errors.Join(loadAllocations(scheduler, s.Asks, 0, s.Sentinel, callback), loadNodes(scheduler, s, w, callback))
}

func loadAllocations(scheduler api.SchedulerAPI, all []*si.AllocationRequest, running int, last *si.AllocationRequest,
	callback *shim) error {
	for _, m := range append(slices.Clone(all), last) {
		if err := scheduler.UpdateAllocation(m); err != nil {
			return err
		}
	}
	return callback.await("the last ask", loadLimit,
		func() bool { return callback.sentinel && callback.running == running })
}

func loadNodes(scheduler api.SchedulerAPI, s *Stream, w Workload, callback *shim) error {
	for _, m := range s.Nodes {
		if err := scheduler.UpdateNode(m); err != nil {
			return err
		}
	}
	return callback.await("nodes", loadLimit, func() bool { return callback.nodes == w.Nodes })
}

// startDeciding sends what starts scheduling: the nodes become schedulable or, in a full cluster, the
// asks.
func startDeciding(scheduler api.SchedulerAPI, s *Stream, w Workload) error {
	if w.preempts() {
		return scheduler.UpdateAllocation(s.Asks[0])
	}
	return scheduler.UpdateNode(s.Open)
}
