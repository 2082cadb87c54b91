package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// In a state in which nothing arrives, a reserved ask is placed at the very time that its explanation has named, if all
// that runs ends as late as it may; and at none while something without an end is in the way (RUN-8).
func TestReserved_FitsAtTheNamedTime(t *testing.T) {
	runs, known, endless := testscale.Runs(4000), 0, 0
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 44))
		w, ends := boundedCore(t, rng)
		w.core.Schedule(w.now, 100)
		w.now = w.now.Add(time.Second)
		w.core.Schedule(w.now, 100)
		reserved := w.core.Explain("large", w.now).Reserved
		assert.Assert(t, reserved != nil, "seed %d", seed)
		placed := runToTheEnd(w, ends)
		if reserved.FitsAt.IsZero() {
			assert.Assert(t, len(reserved.Endless) > 0 && placed.IsZero(), "seed %d: %+v, placed at %s", seed, reserved, placed)
			endless++
			continue
		}
		assert.Equal(t, placed, reserved.FitsAt.Time(), "seed %d: %+v", seed, reserved)
		known++
	}
	assert.Assert(t, known > runs/4 && endless > runs/10, "%d and %d of %d", known, endless, runs)
}

// boundedCore returns a Core with a full node, the termination grace of each allocation that has an end, and an ask
// that the node would take if some of it ended.
func boundedCore(t *testing.T, rng *rand.Rand) (*evaluationCore, map[objects.AllocationKey]time.Duration) {
	conf := (&scenarioCore{queues: []scenarioQueue{{Path: "root.a"}, {Path: "root.free"}}}).config(t)
	conf.PreemptionEnabled = false
	conf.Reservation = configs.Reservation{Enabled: true, Timeout: 1000 * time.Hour, NodePercent: 100}
	for i := range conf.Root.Children {
		if q := &conf.Root.Children[i]; q.Name == "a" {
			q.RunTime = configs.RunTime{Default: time.Hour, Enforced: true, Grace: time.Duration(rng.IntN(3)) * time.Minute}
		}
	}
	w := &evaluationCore{t, scheduler.New(conf, nil), epoch}
	for _, queue := range []string{"a", "free"} {
		w.core.Step(w.now, scheduler.AddApplication{App: objects.AppID(queue), Queue: "root." + queue,
			User: security.User{Name: "ann"}})
	}
	w.core.Step(w.now, scheduler.AddNode{Node: "n", Total: amountsOf(12, 12), Schedulable: true})
	ends := map[objects.AllocationKey]time.Duration{}
	for i := range 6 {
		key, app := objects.AllocationKey(fmt.Sprint("run-", i)), objects.AppID("a")
		if rng.IntN(6) == 0 {
			app = "free"
		}
		grace := rng.IntN(100)
		tags := map[string]string{priorities.GracePeriodTag: fmt.Sprint(grace)}
		if rng.IntN(4) > 0 {
			tags[runtimes.BoundTag] = fmt.Sprintf("%dm", 1+rng.IntN(100))
		}
		if app == "a" {
			ends[key] = time.Duration(grace) * time.Second
		}
		w.core.Step(w.now, scheduler.ReportAllocation{Node: "n", Ask: &objects.Ask{Key: key, App: app,
			Amounts: amountsOf(rng.IntN(3), 2), Details: objects.NewAskDetails(objects.AskDetails{Tags: tags})}})
	}
	w.core.Step(w.now, scheduler.SubmitAsk{Ask: &objects.Ask{Key: "large", App: "free",
		Amounts: amountsOf(1+rng.IntN(12), 1+rng.IntN(12))}})
	return w, ends
}

func amountsOf(vcore, memory int) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(vcore),
		"memory": resources.Quantity(memory)})
}

// runToTheEnd confirms each release after its termination grace, and returns when the large ask was placed; the zero
// time: never.
func runToTheEnd(w *evaluationCore, grace map[objects.AllocationKey]time.Duration) (placed time.Time) {
	gone := map[objects.AllocationKey]time.Time{}
	for placed.IsZero() {
		next, ok := w.core.NextDeadline()
		for _, at := range gone {
			if !ok || at.Before(next) {
				next, ok = at, true
			}
		}
		if !ok || next.Sub(epoch) > 500*time.Hour {
			return placed
		}
		w.now = next
		for key, at := range gone {
			if at.Equal(next) {
				delete(gone, key)
				w.core.Step(w.now, scheduler.Release{App: "a", Key: key, Type: scheduler.TimedOut})
			}
		}
		w.core.Step(w.now, scheduler.Wake{})
		effects, _ := w.core.Schedule(w.now, 100)
		for _, e := range effects {
			switch e := e.(type) {
			case scheduler.Released:
				gone[e.Key] = w.now.Add(grace[e.Key])
			case *scheduler.Allocated:
				placed = w.now
			case scheduler.Allocated:
				placed = w.now
			}
		}
	}
	return placed
}
