package scheduler

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// treeConfig is a configuration of depth levels below root with fanout children each.
func treeConfig(depth, fanout int) configs.Partition {
	return configs.Partition{Name: "default", Root: subtreeConfig("root", depth, fanout)}
}

func subtreeConfig(name string, depth, fanout int) configs.Queue {
	q := configs.Queue{Name: name, Parent: depth > 0, SubmitACL: security.Everyone()}
	for i := range fanout * min(depth, 1) {
		q.Children = append(q.Children, subtreeConfig(fmt.Sprintf("q%d", i), depth-1, fanout))
	}
	return q
}

func leafPaths(q *objects.Queue, to []objects.QueuePath) []objects.QueuePath {
	if q.Leaf() {
		return append(to, q.Path())
	}
	for _, c := range q.Children() {
		to = leafPaths(c, to)
	}
	return to
}

func amounts(vcore, memory int64) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{
		"vcore": resources.Quantity(vcore), "memory": resources.Quantity(memory),
	})
}

// loadedCore is a Core with more than enough nodes, one application in each leaf, and asks of them in turn.
func loadedCore(tb testing.TB, conf configs.Partition, nodes, asks int) (*Core, time.Time) {
	tb.Helper()
	c, now := New(conf, nil), time.Unix(1_000_000_000, 0)
	for i := range nodes {
		c.Step(now,
			AddNode{Node: objects.NodeID(fmt.Sprintf("n%05d", i)), Total: amounts(64_000, 256<<30), Schedulable: true})
	}
	paths := leafPaths(c.Partition().Root(), nil)
	for i, path := range paths {
		c.Step(now,
			AddApplication{App: objects.AppID(fmt.Sprint("a", i)), User: security.User{Name: "ann"}, Queue: string(path)})
	}
	for i := range asks {
		now = now.Add(time.Millisecond)
		c.Step(now, SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprint("k", i)), App: objects.AppID(fmt.Sprint("a", i%len(paths))),
			Amounts: amounts(100*int64(1+i%3), 1<<30), Priority: int32(i % 5),
		}})
	}
	return c, now
}

func TestDecide_AllocatesNothing(t *testing.T) {
	c, now := loadedCore(t, treeConfig(4, 4), 50, 2000)
	c.Schedule(now, 100)
	c.part.RefreshShares()
	got := testing.AllocsPerRun(100, func() { c.decide(now) })
	assert.Equal(t, got, 0.0, "heap allocations per decision")
}

func TestSchedule_SaturatedClusterIsNotSearchedAgain(t *testing.T) {
	c, now := loadedCore(t, treeConfig(2, 10), 1, 5000)
	_, more := c.Schedule(now, 5000)
	assert.Assert(t, !more, "the node cannot take 5000 asks")
	assert.Assert(t, c.part.Root().HasPending())
	got := testing.AllocsPerRun(100, func() { c.Schedule(now, 1) })
	assert.Equal(t, got, 0.0, "heap allocations per idle cycle")
}

// RES-2: within a second of a search for reservations there is no other, and asks with a reservation are not tried
// again and again.
func TestSchedule_ReservationsCostAnIdleCycleNothing(t *testing.T) {
	conf := treeConfig(2, 10)
	conf.Reservation = configs.DefaultReservation()
	c, now := loadedCore(t, conf, 1, 5000)
	c.Schedule(now, 5000)
	now = now.Add(time.Minute)
	_, more := c.Schedule(now, 5000)
	assert.Assert(t, !more)
	assert.Equal(t, len(c.part.Reservations().Asks()), 1)
	got := testing.AllocsPerRun(100, func() { c.Schedule(now, 1) })
	assert.Equal(t, got, 0.0, "heap allocations per idle cycle")
}

func TestSchedule_DeepAndWideQueueTrees(t *testing.T) {
	for _, tc := range []struct {
		name string
		conf configs.Partition
		want int // leaves
	}{
		{"a chain of fifty queues", treeConfig(50, 1), 1},
		{"a thousand children of one parent", treeConfig(1, 1000), 1000},
		{"ten thousand leaves on four levels", treeConfig(4, 10), 10_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.want > 1000 && !testscale.Full() {
				t.Skip("Check of so many queues takes seconds; make check does it")
			}
			c, now := loadedCore(t, tc.conf, 100, 2000)
			assert.Equal(t, len(leafPaths(c.part.Root(), nil)), tc.want)
			effects, _ := c.Schedule(now, 3000)
			allocated := 0
			for _, e := range effects {
				if _, ok := e.(Allocated); ok {
					allocated++
				}
			}
			assert.Equal(t, allocated, 2000)
			assert.NilError(t, c.Check())
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, shape := range []struct{ depth, fanout int }{{1, 10}, {1, 1000}, {2, 32}, {5, 4}, {10, 2}, {50, 1}} {
		b.Run(fmt.Sprintf("depth=%d/fanout=%d", shape.depth, shape.fanout), func(b *testing.B) {
			b.ReportAllocs()
			c, now := loadedCore(b, treeConfig(shape.depth, shape.fanout), 1000, 10_000)
			for b.Loop() {
				effects, _ := c.Schedule(now, 1)
				x := effects[len(effects)-1].(Allocated)
				c.Step(now, Release{App: x.Ask.App, Key: x.Ask.Key, Type: TimedOut})
				c.Step(now, SubmitAsk{Ask: x.Ask})
			}
		})
	}
}

// fullCore is a Core whose nodes are full, with pending asks of many applications and shapes in the leaves
// of a tree.
func fullCore(tb testing.TB, applications, shapes, nodes int) (*Core, time.Time, []*objects.Ask) {
	tb.Helper()
	c, now := New(treeConfig(2, 32), nil), time.Unix(1_000_000_000, 0)
	for i := range nodes {
		c.Step(now, AddNode{Node: objects.NodeID(fmt.Sprintf("n%05d", i)), Total: amounts(4_000, 16<<30), Schedulable: true})
	}
	paths := leafPaths(c.Partition().Root(), nil)
	for i := range applications {
		id := objects.AppID(fmt.Sprint("a", i))
		c.Step(now, AddApplication{App: id, User: security.User{Name: "ann"}, Queue: string(paths[i%len(paths)])})
		for j := range 4 {
			c.Step(now, SubmitAsk{Ask: &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("k", i, "-", j)), App: id,
				Amounts: amounts(1000+int64(i%shapes), 1<<30), Priority: int32(i % 5),
			}})
		}
	}
	var placed []*objects.Ask
	for more := true; more; {
		var effects []Effect
		effects, more = c.Schedule(now, 1000)
		for _, e := range effects {
			if x, ok := e.(Allocated); ok {
				placed = append(placed, x.Ask)
			}
		}
	}
	return c, now, placed
}

// BenchmarkReleaseInAFullCluster measures a release and the placement that follows it.
func BenchmarkReleaseInAFullCluster(b *testing.B) {
	b.ReportAllocs()
	c, now, placed := fullCore(b, 10_000, 100, 1000)
	i := 0
	for b.Loop() {
		if i == len(placed) {
			b.StopTimer()
			c, now, placed = fullCore(b, 10_000, 100, 1000)
			i = 0
			b.StartTimer()
		}
		c.Step(now, Release{App: placed[i].App, Key: placed[i].Key, Type: TimedOut})
		c.Schedule(now, 1)
		i++
	}
}
