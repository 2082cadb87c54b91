package scheduler

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// BenchmarkPlacement measures one placement while a cluster that is large enough fills up; submitting the
// asks is not measured.
func BenchmarkPlacement(b *testing.B) {
	pack := treeConfig(1, 2)
	pack.NodeSortPolicy = policies.NodeSortPolicy{Sort: policies.NodeSortBinPacking,
		Weights: policies.DefaultNodeSortPolicy().Weights}
	for _, w := range []struct {
		name              string
		conf              configs.Partition
		apps, nodes, asks int
	}{
		{"flat", treeConfig(1, 2), 2, 1000, 10_000},
		{"depth", treeConfig(5, 4), 2048, 1000, 10_240},
		{"depth/large", treeConfig(5, 4), 1024, 10_000, 100_000},
		{"32x32", treeConfig(2, 32), 1024, 1000, 10_240},
		{"wide", treeConfig(1, 1000), 1000, 1000, 2000},
		{"bigapp", treeConfig(1, 2), 2, 5000, 50_000},
		{"nodes", pack, 2, 10_000, 12_000},
	} {
		b.Run(w.name, func(b *testing.B) {
			b.ReportAllocs()
			var c *Core
			var now time.Time
			left := 0
			b.ResetTimer()
			for range b.N {
				if left == 0 {
					b.StopTimer()
					c, now = loadedWithApplications(b, w.conf, w.nodes, w.apps, w.asks)
					left = w.asks
					runtime.GC()
					b.StartTimer()
				}
				left--
				if effects, _ := c.Schedule(now, 1); len(effects) == 0 {
					b.Fatal("nothing was placed")
				}
			}
		})
	}
}

// loadedWithApplications is loadedCore with a given number of applications, distributed over the leaves in
// turn.
func loadedWithApplications(tb testing.TB, conf configs.Partition, nodes, apps, asks int) (*Core, time.Time) {
	tb.Helper()
	c, now := New(conf, nil), time.Unix(1_000_000_000, 0)
	for i := range nodes {
		c.Step(now,
			AddNode{Node: objects.NodeID(fmt.Sprintf("n%05d", i)), Total: amounts(64_000, 256<<30), Schedulable: true})
	}
	paths := leafPaths(c.Partition().Root(), nil)
	for i := range apps {
		c.Step(now,
			AddApplication{App: objects.AppID(fmt.Sprint("a", i)), User: security.User{Name: "ann"},
				Queue: string(paths[i%len(paths)])})
	}
	for i := range asks {
		now = now.Add(time.Millisecond)
		c.Step(now, SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprint("k", i)), App: objects.AppID(fmt.Sprint("a", i%apps)),
			Amounts: amounts(100*int64(1+i%10), 1<<30), Priority: 0,
		}})
	}
	c.Schedule(now, 0)
	return c, now
}

// BenchmarkPlacement_DistinctAsks measures a release in a full cluster and the placement that follows it,
// where no two asks have the same shape: most shapes are in no mask.
func BenchmarkPlacement_DistinctAsks(b *testing.B) {
	for _, asks := range []int{2000, 10_000, 50_000} {
		b.Run(fmt.Sprintf("asks=%d", asks), func(b *testing.B) {
			b.ReportAllocs()
			c, now := New(treeConfig(2, 32), nil), time.Unix(1_000_000_000, 0)
			nodes := asks / 20
			for i := range nodes {
				c.Step(now,
					AddNode{Node: objects.NodeID(fmt.Sprintf("n%05d", i)), Total: amounts(4_000, 16<<30), Schedulable: true})
			}
			paths := leafPaths(c.Partition().Root(), nil)
			apps := asks / 20
			r := rand.New(rand.NewPCG(1, 1))
			distinctAsk := func(i int) *objects.Ask {
				return &objects.Ask{
					Key: objects.AllocationKey(fmt.Sprint("k", i)), App: objects.AppID(fmt.Sprint("a", i%apps)),
					Amounts: amounts(200+r.Int64N(1800), 1<<28+r.Int64N(7<<30)), Priority: int32(i % 5),
				}
			}
			for i := range apps {
				c.Step(now,
					AddApplication{App: objects.AppID(fmt.Sprint("a", i)), User: security.User{Name: "ann"},
						Queue: string(paths[i%len(paths)])})
			}
			for i := range asks {
				c.Step(now, SubmitAsk{Ask: distinctAsk(i)})
			}
			var placed []*objects.Ask
			for more := true; more; {
				var effects []Effect
				effects, more = c.Schedule(now, 1000)
				placed = appendAllocated(placed, effects)
			}
			next := asks
			b.ResetTimer()
			for range b.N {
				i := r.IntN(len(placed))
				c.Step(now, Release{App: placed[i].App, Key: placed[i].Key, Type: TimedOut})
				placed[i] = placed[len(placed)-1]
				placed = placed[:len(placed)-1]
				c.Step(now, SubmitAsk{Ask: distinctAsk(next)})
				next++
				effects, _ := c.Schedule(now, 100)
				placed = appendAllocated(placed, effects)
			}
		})
	}
}

func appendAllocated(to []*objects.Ask, effects []Effect) []*objects.Ask {
	for _, e := range effects {
		if x, ok := e.(Allocated); ok {
			to = append(to, x.Ask)
		}
	}
	return to
}
