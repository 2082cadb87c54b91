package usage

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A snapshot with one queue below root, which has an amount of vcore.
func snapshotAt(at time.Time, n resources.Quantity) *scheduler.Snapshot {
	a := resources.FromMap(map[string]resources.Quantity{"vcore": n})
	leaf := &scheduler.QueueView{Path: "root.a", Leaf: true, Allocated: a}
	return &scheduler.Snapshot{At: at, Partition: "default",
		Root: &scheduler.QueueView{Path: "root", Allocated: a, Children: persistent.ListOf(leaf)}}
}

func TestRecorder_SamplesEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open("", Options{}, time.Now())
		assert.NilError(t, err)
		defer s.Close()
		began := time.Now()
		r := NewRecorder(s, time.Minute, time.Now, zap.NewNop())
		r.LastTimeout = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		var silent atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Run(ctx, func(context.Context) []*scheduler.Snapshot {
				if silent.Load() {
					return nil
				}
				return []*scheduler.Snapshot{snapshotAt(time.Now(), 3)}
			})
		}()
		time.Sleep(3*time.Minute + time.Second)
		synctest.Wait()
		assert.Equal(t, readAll(t, s, began, time.Now()).Covered, 180.0)
		silent.Store(true)
		time.Sleep(2 * time.Minute)
		silent.Store(false)
		time.Sleep(2 * time.Minute)
		cancel()
		<-done
		w := readAll(t, s, began, time.Now())
		assert.Equal(t, w.Covered, 180.0+61,
			"the time in which the partition did not answer is not covered; the last sample held until the end")
		assert.Equal(t, w.Series[1].Name, "root.a")
		assert.Equal(t, w.Series[1].Total.Allocated["vcore"], 3*w.Covered)
	})
}
