package demo

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Both configurations of the demo are valid without a warning, every kind of job has its leaf in them, and they differ.
func TestLiveDemo_ConfigurationsAreValid(t *testing.T) {
	for _, text := range []string{liveConfig, liveConfigLater} {
		conf, problems := queuesyaml.Load([]byte(text))
		assert.Equal(t, len(problems), 0, "%v", problems)
		for _, k := range liveKinds {
			assert.Assert(t, conf != nil &&
				strings.Contains(text, "- name: "+k.queue[strings.LastIndexByte(k.queue, '.')+1:]+"\n"), k.queue)
		}
	}
	assert.Assert(t, strings.Contains(liveConfigLater, "- name: releases") &&
		strings.Contains(liveConfigLater, "max: {vcore: 240}"))
}

// liveCluster returns a scheduler of this process with the demo as its resource manager.
func liveCluster(t *testing.T, opt LiveOptions, of engine.Options) (e *engine.Engine, stop func()) {
	t.Helper()
	e = engine.New(of)
	proxy := rmproxy.New(e, rmproxy.Options{})
	e.Start(nil)
	ctx, cancel := context.WithCancel(t.Context())
	var demo sync.WaitGroup
	demo.Go(func() { assert.Check(t, RunLiveDemo(ctx, proxy.InProcess(), opt)) })
	return e, func() {
		cancel()
		demo.Wait()
		proxy.Close()
		e.End()
	}
}

// Five minutes of the demo show what it is for: applications come and end, asks wait for different reasons, a gang
// is placed together, allocations are preempted and their work is submitted again, a node is drained, and the
// configuration changes.
func TestLiveDemo_ShowsWhatTheSchedulerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := liveCluster(t, LiveOptions{Load: 1, Seed: 1}, engine.Options{})
		l, _ := e.Cluster().Partition(partitionName)
		drained, waiting, gangs := map[string]bool{}, map[string]bool{}, 0
		for range 30 {
			time.Sleep(10 * time.Second)
			snap, err := l.Snapshot(t.Context())
			assert.NilError(t, err)
			assert.Assert(t, snap.Allocations > 300, "%d allocations", snap.Allocations)
			for n := range snap.Nodes.All() {
				if !n.Schedulable {
					drained[string(n.ID)] = true
				}
			}
			eachApp(snap.Root, func(a *scheduler.ApplicationView) {
				if len(a.Gang) > 0 && a.State == lifecycle.Running {
					gangs++
				}
				for w := range a.Allocations.All() {
					if w.Node == "" {
						x, err := l.Explain(t.Context(), w.Ask.Key)
						assert.NilError(t, err)
						if x.State == scheduler.KeyPending {
							waiting[x.Verdict.Reason.Code()] = true
						}
						break
					}
				}
			})
		}
		snap, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		log, err := l.Preemptions(t.Context())
		assert.NilError(t, err)
		placedAgain := 0
		for i := range log.Last {
			if log.Last[i].Placed != nil {
				placedAgain++
			}
		}
		assert.Assert(t, len(drained) >= 3, "%v", drained)
		assert.Assert(t, len(waiting) >= 4 && waiting["askExceedsNodes"] && waiting["noNodeAdmitted"], "%v", waiting)
		assert.Assert(t, gangs > 0)
		assert.Assert(t, snap.Completed.Len() > 50, "%d", snap.Completed.Len())
		assert.Equal(t, snap.Rejected.Len(), 0)
		assert.Assert(t, log.Total > 5 && placedAgain > 3, "%d preemptions, %d placed", log.Total, placedAgain)
		assert.Equal(t, log.UnknownConfirmations, uint64(0))
		assert.Equal(t, e.Reloads().Current().Text, liveConfigLater)
		assert.NilError(t, l.Check(t.Context()))
		stop()
	})
}

// Something is preempted in the first two minutes, with jobs of any seed.
func TestLiveDemo_PreemptsSoon(t *testing.T) {
	first := rand.Uint64()
	for i := range testscale.Runs(15) {
		seed := first + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			e, stop := liveCluster(t, LiveOptions{Load: 1, Seed: seed}, engine.Options{})
			time.Sleep(2 * time.Minute)
			l, _ := e.Cluster().Partition(partitionName)
			log, err := l.Preemptions(t.Context())
			assert.NilError(t, err)
			assert.Assert(t, log.Total > 0, "seed %d", seed)
			stop()
		})
	}
}

// Where more is asked for than there is, gangs reserve nodes all the time, and few of their reservations move (RES-11).
func TestLiveDemo_FewReservationsMove(t *testing.T) {
	ended, moved := 0, 0
	count := func(_ string, effects []scheduler.Effect) {
		for _, effect := range effects {
			switch e, _ := effect.(scheduler.Event); e.Kind {
			case scheduler.EventReservationEnded:
				ended++
			case scheduler.EventReservationsMoved:
				moved += len(e.Moved)
			}
		}
	}
	first := rand.Uint64()
	for i := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			_, stop := liveCluster(t, LiveOptions{Load: 2, Seed: first + i}, engine.Options{OnEffects: count})
			time.Sleep(5 * time.Minute)
			stop()
		})
	}
	assert.Assert(t, ended > 300 && 10*moved <= ended+moved, "seed %d: %d reservations ended, and %d moved", first, ended,
		moved)
}

// Where more is asked for than there is, what is over in time uses reserved nodes, and no task reaches its bound.
func TestLiveDemo_Backfills(t *testing.T) {
	timedOut := 0
	count := func(_ string, effects []scheduler.Effect) {
		for _, effect := range effects {
			if e, ok := effect.(scheduler.Released); ok && e.Type == scheduler.TimedOut {
				timedOut++
			}
		}
	}
	seed := rand.Uint64()
	synctest.Test(t, func(t *testing.T) {
		e, stop := liveCluster(t, LiveOptions{Load: 2, Seed: seed}, engine.Options{OnEffects: count})
		time.Sleep(5 * time.Minute)
		l, _ := e.Cluster().Partition(partitionName)
		snap, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		n := snap.Backfill
		assert.Assert(t, n.Placed > 100 && n.Released > 0 && 2*n.Released < n.Placed, "seed %d: %+v", seed, n)
		assert.NilError(t, l.Check(t.Context()))
		stop()
	})
	assert.Equal(t, timedOut, 0, "seed %d", seed)
}

// The load rises from the beginning until something is preempted, where the cluster is to be almost full.
func TestLiveDemo_LoadRisesUntilAPreemption(t *testing.T) {
	d := newLiveDemo(nil, LiveOptions{Load: 1, Seed: 1})
	assert.Equal(t, d.rise(0), 1.0)
	assert.Equal(t, d.rise(liveRise), 2.0)
	assert.Equal(t, d.rise(time.Hour), 4.0)
	d.preempted = true
	assert.Equal(t, d.rise(liveRise), 1.0)
	assert.Equal(t, newLiveDemo(nil, LiveOptions{Load: .9}).rise(time.Hour), 1.0)
}

func eachApp(q *scheduler.QueueView, do func(*scheduler.ApplicationView)) {
	for a := range q.Applications.All() {
		do(a)
	}
	for child := range q.Children.All() {
		eachApp(child, do)
	}
}

// The load says how much is asked for, and the demo does not grow without bound.
func TestLiveDemo_LoadIsTheKnob(t *testing.T) {
	pending := func(t *testing.T, load float64) (asks, apps int) {
		synctest.Test(t, func(t *testing.T) {
			e, stop := liveCluster(t, LiveOptions{Load: load, Seed: 1}, engine.Options{})
			time.Sleep(3 * time.Minute)
			l, _ := e.Cluster().Partition(partitionName)
			snap, err := l.Snapshot(t.Context())
			assert.NilError(t, err)
			asks, apps = snap.Asks, snap.Applications
			stop()
		})
		return asks, apps
	}
	low, _ := pending(t, .3)
	high, apps := pending(t, MaxLiveLoad)
	assert.Assert(t, low < 60 && high > 10*low, "%d and %d asks are pending", low, high)
	most := len(liveFixtures)
	for _, k := range liveKinds {
		most += k.maxJobs
	}
	assert.Assert(t, apps <= 2*most, "%d applications", apps) // some of them are completing
}

// heldScheduler keeps what it is asked for.
type heldScheduler struct {
	api.SchedulerAPI
	asks     []*si.Allocation
	releases []*si.AllocationRelease
}

func (h *heldScheduler) UpdateApplication(*si.ApplicationRequest) error { return nil }

func (h *heldScheduler) UpdateAllocation(m *si.AllocationRequest) error {
	h.asks = append(h.asks, m.Allocations...)
	h.releases = append(h.releases, m.GetReleases().GetAllocationsToRelease()...)
	return nil
}

// A victim is confirmed, and its work is asked for again by another task of the same job.
func TestLiveDemo_WorkOfVictimsIsSubmittedAgain(t *testing.T) {
	held := &heldScheduler{}
	d := newLiveDemo(held, LiveOptions{Load: 1, Seed: 1})
	assert.NilError(t, d.submitJob(0))
	asked := len(held.asks)
	victim := d.tasks[held.asks[0].AllocationKey]
	victim.placed, victim.ending = true, true
	assert.NilError(t, d.victimEnds(victim))
	assert.Equal(t, len(held.releases), 1)
	assert.Equal(t, held.releases[0].AllocationKey, victim.key)
	assert.Equal(t, held.releases[0].TerminationType, si.TerminationType_PREEMPTED_BY_SCHEDULER)
	assert.Equal(t, len(held.asks), asked, "not yet")
	for len(d.timers) > 0 {
		assert.NilError(t, heap.Pop(&d.timers).(liveTimer).do())
	}
	assert.Equal(t, len(held.asks), asked+1)
	again := held.asks[asked]
	assert.Assert(t, again.AllocationKey != victim.key)
	assert.Equal(t, again.ApplicationID, victim.job.id)
	assert.Equal(t, again.ResourcePerAlloc.String(), held.asks[0].ResourcePerAlloc.String())
	assert.Equal(t, victim.job.left, asked)
}

// A task that was released after its bound is confirmed, and its work is not asked for again.
func TestLiveDemo_ConfirmsTheEndOfRunTimes(t *testing.T) {
	held := &heldScheduler{}
	d := newLiveDemo(held, LiveOptions{Load: 1, Seed: 1})
	assert.NilError(t, d.submitJob(0))
	key := held.asks[0].AllocationKey
	assert.NilError(t, d.inbox.UpdateAllocation(&si.AllocationResponse{Released: []*si.AllocationRelease{
		{AllocationKey: key, TerminationType: si.TerminationType_TIMEOUT}}}))
	assert.NilError(t, d.receive())
	assert.Equal(t, len(held.releases), 1)
	assert.Equal(t, held.releases[0].AllocationKey, key)
	assert.Equal(t, held.releases[0].TerminationType, si.TerminationType_TIMEOUT)
	assert.Assert(t, d.tasks[key] == nil && len(d.timers) == 0)
}

// failingScheduler refuses to register a resource manager.
type failingScheduler struct{ api.SchedulerAPI }

func (failingScheduler) RegisterResourceManager(*si.RegisterResourceManagerRequest,
	api.ResourceManagerCallback) (*si.RegisterResourceManagerResponse, error) {
	return nil, errors.New("another one is registered")
}

func TestLiveDemo_ReportsWhyItCannotRun(t *testing.T) {
	err := RunLiveDemo(t.Context(), failingScheduler{}, LiveOptions{Load: 1})
	assert.Error(t, err, "registering the demo: another one is registered")
}
