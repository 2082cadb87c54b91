package loop_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// A partition of 10,000 leaves under 100 parents, with an application in each leaf.
const (
	benchParents = 100
	benchLeaves  = 100 // of each parent
	benchNodes   = 1000
)

func wideConfig(max int64) *configs.Config {
	p := configs.Partition{Name: "default",
		Root: configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone()}}
	for i := range benchParents {
		parent := configs.Queue{Name: fmt.Sprint("p", i), Parent: true}
		for j := range benchLeaves {
			parent.Children = append(parent.Children, configs.Queue{
				Name: fmt.Sprint("l", j),
				Max:  resources.LimitFromMap(map[string]resources.Quantity{"vcore": resources.Quantity(max)}),
			})
		}
		p.Root.Children = append(p.Root.Children, parent)
	}
	return configOf(p)
}

// BenchmarkReload measures how long decisions are paused by a reload of 10,000 queues, all of
// which change, while asks and releases come: pause-ms is the mean, worst-ms the maximum.
func BenchmarkReload(b *testing.B) {
	c := loop.NewCluster(loop.Options{HighWater: 256}, func(string) loop.Sink { return ignoringSink{} }, nil)
	defer c.End()
	confs := []*configs.Config{wideConfig(50), wideConfig(60)}
	assert.NilError(b, c.Configure(b.Context(), confs[0]))
	l, _ := c.Partition("default")
	var setup []scheduler.Command
	for i := range benchNodes {
		setup = append(setup, node(fmt.Sprint("n", i), 100))
	}
	for i := range benchParents * benchLeaves {
		setup = append(setup, scheduler.AddApplication{
			App: objects.AppID(fmt.Sprint("app", i)), User: security.User{Name: "ann"},
			Queue: fmt.Sprintf("root.p%d.l%d", i/benchLeaves, i%benchLeaves),
		})
	}
	effects, err := l.Call(b.Context(), setup...)
	assert.NilError(b, err)
	for _, e := range effects {
		_, rejected := e.(scheduler.ApplicationRejected)
		assert.Assert(b, !rejected, "%s", e)
	}
	ctx, stop := context.WithCancel(b.Context())
	var load sync.WaitGroup
	load.Go(func() { generateLoad(ctx, l) })
	var sum, worst time.Duration
	for i := 0; b.Loop(); i++ {
		paused, err := c.Reload(b.Context(), confs[(i+1)%2])
		assert.NilError(b, err)
		sum, worst = sum+paused, max(worst, paused)
	}
	b.StopTimer()
	stop()
	load.Wait()
	s, err := l.Snapshot(b.Context())
	assert.NilError(b, err)
	assert.Assert(b, s.Allocations > 0, "nothing was decided meanwhile: %d applications, %d asks, %d nodes",
		s.Applications, s.Asks, s.Nodes.Len())
	b.ReportMetric(float64(sum.Microseconds())/1000/float64(b.N), "pause-ms")
	b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
}

type ignoringSink struct{}

func (ignoringSink) Deliver([]scheduler.Effect) {}

// generateLoad sends an ask for another leaf each time, and releases the ask that it sent 20,000
// asks before.
func generateLoad(ctx context.Context, l *loop.Loop) {
	const live = 20_000
	app := func(i int) objects.AppID { return objects.AppID(fmt.Sprint("app", i*7%(benchParents*benchLeaves))) }
	key := func(i int) objects.AllocationKey { return objects.AllocationKey(fmt.Sprint("k", i)) }
	for i := 0; ctx.Err() == nil; i++ {
		l.Send(scheduler.SubmitAsk{Ask: &objects.Ask{Key: key(i), App: app(i), Amounts: vcores(1)}})
		if i >= live {
			l.Send(scheduler.Release{App: app(i - live), Key: key(i - live), Type: scheduler.StoppedByRM})
		}
		if i%100 == 0 && l.Wait(ctx) != nil {
			return
		}
	}
}
