package metrics_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// OnEffects is called between two decisions of a linked shim.
func TestOnEffects_DoesNotAllocate(t *testing.T) {
	m := metrics.New(metrics.Options{})
	effects := []scheduler.Effect{
		scheduler.Allocated{Binding: &scheduler.Binding{Ask: ask("a", "app", 1, 0), Node: "n1"}},
		scheduler.Released{Key: "a", App: "app", Type: scheduler.StoppedByRM},
		scheduler.AskRejected{Key: "b", App: "app"},
		scheduler.ApplicationUpdated{App: "app", Queue: "root.a", State: lifecycle.Completed},
		scheduler.Event{Kind: scheduler.EventPreempted},
	}
	m.OnEffects("default", effects) // the first of each kind may allocate
	took := m.DecisionMeter("default")
	assert.Equal(t, testing.AllocsPerRun(100, func() { took(time.Millisecond) }), 0.0)
	for _, e := range effects {
		one := []scheduler.Effect{e}
		assert.Equal(t, testing.AllocsPerRun(100, func() { m.OnEffects("default", one) }), 0.0, "%s", e)
	}
}

func BenchmarkOnEffects_OneAllocation(b *testing.B) {
	m := metrics.New(metrics.Options{})
	effects := []scheduler.Effect{scheduler.Allocated{Binding: &scheduler.Binding{Ask: ask("a", "app", 1, 0), Node: "n1"}}}
	b.ReportAllocs()
	for b.Loop() {
		m.OnEffects("default", effects)
	}
}

// Every preemption event of the core is counted, with a label for each reason and end; one without a label
// is counted as "other".
func TestOnEffects_CountsPreemptionEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		before := w.scrapeLines("canopy_preempt")
		assert.Assert(t, !strings.Contains(before, `"other"`), before)
		var effects []scheduler.Effect
		for _, r := range []victim.Reason{0, 1, 2, 3, 4, 5, 6, 200} {
			effects = append(effects, scheduler.Event{Kind: scheduler.EventPreempted, Reason: r},
				scheduler.Event{Kind: scheduler.EventNominated, Reason: r, Victims: 2},
				scheduler.Event{Kind: scheduler.EventNominated, Reason: r})
		}
		for _, s := range []preemption.NominationState{1, 2, 3, 4, 5, 6, 7, 8, 9, 200} {
			effects = append(effects, scheduler.Event{Kind: scheduler.EventNominationEnded, NominationEnd: s})
		}
		w.metrics.OnEffects("default", append(effects, scheduler.Event{Kind: scheduler.EventOverdue},
			scheduler.Event{Kind: scheduler.EventPreemptionCycle, Cycle: preemption.Cycle{"root.a", "root.b"}},
			scheduler.Event{Kind: scheduler.EventCoolDownEnded}))
		after := w.scrapeLines("canopy_preempt")
		for _, reason := range []string{"node", "guarantee", "fairshare", "priority", "quota", "pressure", "operator",
			"other"} {
			for _, name := range []string{"preemption_victims_total", "preemptions_total"} {
				line := fmt.Sprintf("canopy_%s{partition=\"default\",reason=%q} 1\n", name, reason)
				assert.Assert(t, strings.Contains(after, line), "%s\n%s", line, after)
			}
		}
		for _, state := range []string{"placed", "lost", "lost_node", "given_up", "resized", "cancelled", "unknown",
			"timed_out", "moved", "other"} {
			line := fmt.Sprintf("canopy_preemption_nominations_ended_total{partition=\"default\",state=%q} 1\n", state)
			assert.Assert(t, strings.Contains(after, line), "%s\n%s", line, after)
		}
		assert.Assert(t,
			strings.Contains(after,
				"\ncanopy_preemption_cycles_total{cycle=\"root.a -> root.b -> root.a\",partition=\"default\"} 1\n"), after)
		assert.Assert(t, strings.Contains(after, "\ncanopy_preemption_victims_overdue_total{partition=\"default\"} 1\n"),
			after)
	})
}

// Preemption cycles beyond maxCycles are counted under "(more)".
func TestPreemptionCycles_LabelsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		for i := range 103 {
			cycle := preemption.Cycle{objects.QueuePath(fmt.Sprintf("root.q%03d", i))}
			w.metrics.OnEffects("default",
				[]scheduler.Effect{scheduler.Event{Kind: scheduler.EventPreemptionCycle, Cycle: cycle}})
		}
		lines := w.scrapeLines("canopy_preemption_cycles_total{")
		assert.Equal(t, strings.Count(lines, "\n"), 101, lines)
		assert.Assert(t, strings.Contains(lines, `{cycle="(more)",partition="default"} 3`) &&
			strings.Contains(lines, `"root.q099 -> root.q099"`), lines)
	})
}

// The core has no reason of preemption and no end of a nomination without a label.
func TestLabels_EveryPreemptionReasonAndNominationEnd(t *testing.T) {
	beyond := func(name func() string) (panics bool) {
		defer func() { panics = recover() != nil }()
		_ = name()
		return false
	}
	assert.Assert(t, beyond((victim.ReasonOperator + 1).String))
	assert.Assert(t, beyond((preemption.NominationMoved + 1).String))
}

// The age of an unconfirmed victim grows while the state does not change, until the victim is overdue.
func TestScrape_OverdueVictim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := busyFixture(t)
		victims := func() string {
			return w.scrapeLines("canopy_preemption_victims_unc", "canopy_preemption_victims_overdue{",
				"canopy_preemption_oldest")
		}
		assert.Assert(t, strings.Contains(victims(), "_seconds{partition=\"default\"} 90\n"), victims())
		time.Sleep(10 * time.Second) // nothing changes: the snapshot is the same
		assert.Assert(t, strings.Contains(victims(), "_seconds{partition=\"default\"} 100\n"), victims())
		time.Sleep(10 * time.Minute)
		for _, want := range []string{
			"canopy_preemption_oldest_unconfirmed_seconds{partition=\"default\"} 700\n",
			"canopy_preemption_victims_overdue{partition=\"default\"} 1\n",
			"canopy_preemption_victims_unconfirmed{partition=\"default\"} 1\n",
		} {
			assert.Assert(t, strings.Contains(victims(), want), "%s\n%s", want, victims())
		}
		lines := w.scrapeLines("canopy_preemption")
		assert.Assert(t, strings.Contains(lines, "ended_total{partition=\"default\",state=\"timed_out\"} 1\n"), lines)
		w.call(scheduler.Release{App: "etl", Key: "etl-2", Type: scheduler.PreemptedByScheduler})
		assert.Assert(t, strings.Contains(victims(), "_seconds{partition=\"default\"} 0\n"), victims())
	})
}

// An application that ends in a queue which is removed with it is counted, and queues beyond maxEndedQueues are
// counted under "(more)".
func TestEndedApplications_AreCountedByQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		end := func(queue objects.QueuePath, state lifecycle.State) {
			w.metrics.OnEffects("default",
				[]scheduler.Effect{scheduler.ApplicationUpdated{App: "a", Queue: queue, State: state}})
		}
		end("root.batch", lifecycle.Completed)
		end("root.gone", lifecycle.Failed)
		for i := range 10_000 {
			end(objects.QueuePath(fmt.Sprint("root.q", i)), lifecycle.Completed)
		}
		lines := w.scrapeLines("yunikorn_queue_app")
		for _, want := range []string{
			"yunikorn_queue_app{partition=\"default\",queue=\"root.batch\",state=\"completed\"} 1\n",
			"yunikorn_queue_app_total{partition=\"default\",queue=\"root.batch\",state=\"completed\"} 1\n",
			"yunikorn_queue_app_total{partition=\"default\",queue=\"root.gone\",state=\"failed\"} 1\n",
			"yunikorn_queue_app_total{partition=\"default\",queue=\"(more)\",state=\"completed\"} 2\n",
		} {
			assert.Assert(t, strings.Contains(lines, want), want)
		}
		assert.Assert(t, !strings.Contains(lines, `queue_app{partition="default",queue="root.gone"`))
	})
}

// Durations of runs of decisions are recorded by partition.
func TestMeter_DecisionRunsByPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		took := w.metrics.DecisionMeter("default")
		took(3 * time.Millisecond)
		took(time.Minute)
		w.metrics.DecisionMeter("empty")
		lines := w.scrapeLines("canopy_decision_run_seconds")
		for _, want := range []string{
			`bucket{partition="default",le="0.001024"} 0`, `bucket{partition="default",le="0.004096"} 1`,
			`bucket{partition="default",le="+Inf"} 2`,
			`sum{partition="default"} 60.003`, `count{partition="empty"} 0`,
		} {
			assert.Assert(t, strings.Contains(lines, "canopy_decision_run_seconds_"+want+"\n"), "%s\n%s", want, lines)
		}
	})
}

// The same histogram has the name that YuniKorn's dashboards use (OBS-67).
func TestMeter_RunsHaveTheNameOfYuniKornToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		took := w.metrics.DecisionMeter("default")
		took(3 * time.Millisecond)
		took(time.Minute)
		values := func(name string) string {
			_, lines, _ := strings.Cut(w.scrapeLines(name), "\n") // without the help
			return strings.ReplaceAll(lines, name, "")
		}
		want := values("canopy_decision_run_seconds")
		assert.Assert(t, strings.Contains(want, `_sum{partition="default"} 60.003`), want)
		assert.Equal(t, values("yunikorn_scheduler_scheduling_latency_milliseconds"), want)
	})
}
