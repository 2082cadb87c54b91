package scheduler

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// BenchmarkPlacing is what one placement costs while a cluster that has room for
// everything fills up; taking work in is not part of it.
func BenchmarkPlacing(b *testing.B) {
	pack := tree(1, 2)
	pack.Nodes = policies.NodeOrder{Nodes: policies.Pack, Weights: policies.DefaultNodeOrder().Weights}
	for _, w := range []struct {
		name              string
		conf              configs.Partition
		apps, nodes, asks int
	}{
		{"flat", tree(1, 2), 2, 1000, 10_000},
		{"depth", tree(5, 4), 2048, 1000, 10_240},
		{"depth/large", tree(5, 4), 1024, 10_000, 100_000},
		{"32x32", tree(2, 32), 1024, 1000, 10_240},
		{"wide", tree(1, 1000), 1000, 1000, 2000},
		{"bigapp", tree(1, 2), 2, 5000, 50_000},
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
					c, now = filled(b, w.conf, w.nodes, w.apps, w.asks)
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

// filled is loaded with a chosen number of applications, dealt to the leaves in turn.
func filled(tb testing.TB, conf configs.Partition, nodes, apps, asks int) (*Core, time.Time) {
	tb.Helper()
	c, now := New(conf, nil), time.Unix(1_000_000_000, 0)
	for i := range nodes {
		c.Step(now, AddNode{Node: objects.NodeID(fmt.Sprintf("n%05d", i)), Total: amounts(64_000, 256<<30), Schedulable: true})
	}
	paths := leaves(c.Partition().Root(), nil)
	for i := range apps {
		c.Step(now, AddApplication{App: objects.AppID(fmt.Sprint("a", i)), User: security.User{Name: "ann"}, Queue: string(paths[i%len(paths)])})
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
