package loop_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// recoveringCluster is a cluster with a node of 10 and a queue with a max of 2, after a registration with RecoveryQuiet
// 2s.
func recoveringCluster(t *testing.T, mode loop.Mode) (l *loop.Loop, sink *recordingSink, over *[]loop.Recovery) {
	t.Helper()
	sink, over = &recordingSink{}, new([]loop.Recovery)
	c := loop.NewCluster(loop.Options{OnRecovered: func(partition string, r loop.Recovery) {
		assert.Equal(t, partition, "default")
		*over = append(*over, r)
	}}, func(string) loop.Sink { return sink }, nil)
	t.Cleanup(c.End)
	p := partition("default", "a")
	p.Root.Children[0].Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": 2})
	assert.NilError(t, c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{p}}))
	mode.RecoveryQuiet = 2 * time.Second
	assert.NilError(t, c.Reset(t.Context(), mode, ""))
	l, _ = c.Partition("default")
	return l, sink, over
}

func runningOn(node string, key int) scheduler.Command {
	return scheduler.ReportAllocation{Node: objects.NodeID(node),
		Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprint("runs", key)), App: "app", Amounts: vcores(1)}}
}

// A max holds although new asks come before allocations that run are reported: nothing is decided until none was
// reported for some time (RMI-80).
func TestRecovery_NothingIsDecidedUntilAllocationsAreReported(t *testing.T) {
	for _, mode := range []loop.Mode{{}, {Sync: true}} {
		synctest.Test(t, func(t *testing.T) {
			l, sink, over := recoveringCluster(t, mode)
			l.Send(node("n", 10))
			time.Sleep(3900 * time.Millisecond) // the time before the first application does not count
			l.Send(app("app"), ask("new1"), ask("new2"))
			time.Sleep(time.Second)
			l.Send(app("later"))
			time.Sleep(900 * time.Millisecond)
			l.Send(runningOn("n", 1))
			time.Sleep(1900 * time.Millisecond)
			synctest.Wait()
			assert.Assert(t, !strings.Contains(sink.text(), "allocated new"), sink.text())
			assert.Assert(t, !l.Health().Idle, "decisions are due")
			assert.Equal(t, len(*over), 0)
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			assert.Equal(t, strings.Count(sink.text(), "allocated new"), 1, sink.text())
			assert.DeepEqual(t, *over, []loop.Recovery{{Took: 3900 * time.Millisecond, Reported: 1}})
			assert.Assert(t, l.Health().Idle)

			l.Send(scheduler.Release{App: "app", Key: "runs1"}) // from then on nothing is held back
			synctest.Wait()
			assert.Equal(t, strings.Count(sink.text(), "allocated new"), 2, sink.text())
			l.Send(runningOn("n", 2))
			synctest.Wait()
			assert.Equal(t, len(*over), 1)
		})
	}
}

// An application that comes long after the nodes is a new one: nothing is held back. Nodes that are registered and not
// schedulable yet do not count.
func TestRecovery_IsNotNeededByALateApplication(t *testing.T) {
	for _, schedulable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l, sink, over := recoveringCluster(t, loop.Mode{Sync: true})
			add := node("n", 10).(scheduler.AddNode)
			add.Schedulable = false
			l.Send(add)
			time.Sleep(time.Hour)
			l.Send(scheduler.SetSchedulable{Node: "n", Schedulable: true})
			if schedulable {
				time.Sleep(4 * time.Second)
			}
			l.Send(app("app"), ask("new"))
			synctest.Wait()
			assert.Equal(t, strings.Contains(sink.text(), "allocated new"), schedulable, sink.text())
			if schedulable {
				assert.DeepEqual(t, *over, []loop.Recovery{{}})
			}
		})
	}
}

// A resource manager that reports allocations for ever does not hold decisions back for ever.
func TestRecovery_IsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, sink, over := recoveringCluster(t, loop.Mode{Sync: true})
		l.Send(node("n", 10), app("app"), ask("new"))
		for i := range 86 {
			assert.Assert(t, !strings.Contains(sink.text(), "allocated new"), "after %d reports", i)
			time.Sleep(700 * time.Millisecond)
			l.Send(runningOn("gone", i)) // it is rejected, and no less a report
			synctest.Wait()
		}
		assert.Assert(t, strings.Contains(sink.text(), "allocated new"))
		assert.DeepEqual(t, *over, []loop.Recovery{{Took: time.Minute, Reported: 85, Bounded: true}})
	})
}

// Another registration begins another recovery, or none, whatever the one before was doing.
func TestRecovery_OfOneRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, sink, over := recoveringCluster(t, loop.Mode{Sync: true})
		l.Send(node("n", 10), app("app"), ask("new"))
		synctest.Wait()
		assert.Assert(t, !strings.Contains(sink.text(), "allocated new"))
		c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return sink }, nil)
		defer c.End()
		assert.NilError(t,
			c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{partition("default", "a")}}))
		for _, quiet := range []time.Duration{time.Hour, 0} {
			assert.NilError(t, c.Reset(t.Context(), loop.Mode{Sync: true, RecoveryQuiet: quiet}, ""))
			l, _ := c.Partition("default")
			l.Send(node("n", 10), app("app"), ask("second"))
			synctest.Wait()
			assert.Equal(t, strings.Contains(sink.text(), "allocated second"), quiet == 0)
		}
		assert.Equal(t, len(*over), 0)
	})
}

// During a recovery the explanation of an ask says that nothing is placed, and until when at the latest (EXP-19).
func TestExplain_NamesARecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, _ := recoveringCluster(t, loop.Mode{Sync: true})
		l.Send(node("n", 10), app("app"), ask("new1"))
		synctest.Wait()
		e, err := l.Explain(t.Context(), "new1")
		assert.NilError(t, err)
		assert.Equal(t, e.String(),
			"it waits for its turn; nothing is placed until the resource manager, which has registered, has reported what "+
				"runs: until "+
				time.Now().Add(time.Minute).UTC().Format(time.RFC3339)+" at the latest")
		assert.Equal(t, e.Gates[1].Kind, explain.Recovery)
		assert.Assert(t, e.Gates[1].Closed && len(e.Gates) > 2)
		of, err := l.ExplainApplication(t.Context(), "app")
		assert.NilError(t, err)
		assert.Equal(t, of.Groups[0].First.String(), e.String())
		time.Sleep(3 * time.Second)
		e, err = l.Explain(t.Context(), "new1")
		assert.NilError(t, err)
		assert.Equal(t, e.State, scheduler.KeyAllocated)
		assert.Equal(t, len(e.Gates), 0)
	})
}
