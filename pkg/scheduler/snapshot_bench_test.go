package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// largeCore is a core with 10,100 queues, 10,000 applications, 10,000 nodes and 100,000 allocations.
func largeCore(b *testing.B) (*Core, time.Time) {
	c, now := loadedWithApplications(b, treeConfig(2, 100), 10_000, 10_000, 100_000)
	for more := true; more; {
		_, more = c.Schedule(now, 10_000)
	}
	if _, asks, allocations := c.Partition().Counts(); asks > 0 || allocations != 100_000 {
		b.Fatalf("%d allocations, %d asks", allocations, asks)
	}
	return c, now
}

// BenchmarkSnapshot measures one snapshot of a large cluster; worst-slice-us is the longest slice, in which
// decisions wait.
func BenchmarkSnapshot(b *testing.B) {
	c, now := largeCore(b)
	asks := 100_000
	place := func(n int) {
		for range n {
			c.Step(now, SubmitAsk{Ask: &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("k", asks)), App: objects.AppID(fmt.Sprint("a", asks*7919%10_000)),
				Amounts: amounts(100, 1<<20),
			}})
			asks++
		}
		c.Schedule(now, n)
	}
	b.Run("full", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			c.FullSnapshot(now)
		}
	})
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		var worst, total time.Duration
		slices := 0
		for range b.N {
			c.ForgetSnapshots()
			for left := 1 << 30; left > 0; slices++ {
				began := time.Now()
				left = c.RefreshSnapshot(refreshSlice)
				took := time.Since(began)
				worst, total = max(worst, took), total+took
			}
			c.Snapshot(now)
		}
		b.ReportMetric(float64(worst.Microseconds()), "worst-slice-us")
		b.ReportMetric(float64(total.Microseconds())/float64(slices), "slice-us")
	})
	for _, n := range []int{0, 1, 64, 1000} {
		b.Run(fmt.Sprint("after ", n, " placements"), func(b *testing.B) {
			b.ReportAllocs()
			c.Snapshot(now)
			for range b.N {
				b.StopTimer()
				place(n)
				b.StartTimer()
				c.Snapshot(now)
			}
		})
	}
}

// refreshSlice is about what package loop refreshes in one slice.
const refreshSlice = 512

// BenchmarkPlacement_WithSnapshots measures one placement in a large cluster, with and without recording of
// changes for snapshots.
func BenchmarkPlacement_WithSnapshots(b *testing.B) {
	for _, read := range []bool{false, true} {
		b.Run(fmt.Sprintf("read=%t", read), func(b *testing.B) {
			b.ReportAllocs()
			c, now := loadedWithApplications(b, treeConfig(2, 100), 10_000, 10_000, 100_000)
			if read {
				c.Snapshot(now)
			}
			left := 100_000
			b.ResetTimer()
			for range b.N {
				if left == 0 {
					b.StopTimer()
					c, now = loadedWithApplications(b, treeConfig(2, 100), 10_000, 10_000, 100_000)
					left = 100_000
					if read {
						c.Snapshot(now)
					}
					b.StartTimer()
				}
				left--
				c.Schedule(now, 1)
			}
		})
	}
}
