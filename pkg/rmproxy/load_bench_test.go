package rmproxy

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// Maximum throughput, in messages of 100 asks: fill keeps all allocations, churn releases each as
// soon as it is bound and keeps 20,000. Client and core share the processors.
func BenchmarkStream(b *testing.B) {
	const size = 100
	b.Run("fill", func(b *testing.B) {
		n := (b.N + size - 1) / size * size
		l := newLoadClient(b, n, size)
		l.run(b, n, n)
	})
	b.Run("churn", func(b *testing.B) {
		n := (b.N + size - 1) / size * size
		l := newLoadClient(b, 40_000, size)
		l.run(b, n, 20_000)
	})
}

// run sends n asks and releases all but the first live ones.
func (l *loadClient) run(b *testing.B, n, live int) {
	ready := make(chan int, n/l.size) // messages whose asks are all allocated
	failed := make(chan error, 1)
	b.ResetTimer()
	before := cpu(b)
	go func() {
		for first := 0; first < n; first += l.size {
			err := l.ask(first)
			if err == nil && first >= live {
				err = l.release(<-ready)
			}
			if err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	pending, seen := make([]int8, n/l.size), make([]bool, n)
	for i := range pending {
		pending[i] = int8(l.size)
	}
	for allocatedCount, releasedCount := 0, 0; allocatedCount < n || releasedCount < n-live; {
		must(b, l.receive(func(number int, allocated bool) {
			if !allocated {
				releasedCount++
				return
			}
			if seen[number] {
				b.Fatalf("ask %d was allocated twice", number)
			}
			seen[number] = true
			allocatedCount++
			if at := number / l.size; pending[at] == 1 {
				ready <- at * l.size
			} else {
				pending[at]--
			}
		}))
	}
	b.StopTimer()
	used := cpu(b) - before
	assert.NilError(b, <-failed)
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "allocations/s")
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(n), "CPU-us/allocation")
}

// Latency from an ask to its allocation, at a steady rate of 10,000 asks per second.
func BenchmarkStreamSteady(b *testing.B) {
	const size = 10
	n := (b.N + size - 1) / size * size
	l := newLoadClient(b, n, size)
	sent, took, failed := make([]time.Time, n), make([]time.Duration, 0, n), make(chan error, 1)
	b.ResetTimer()
	before := cpu(b)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		begin, first := time.Now(), 0
		for first < n {
			now := <-tick.C
			for due := min(n, int(now.Sub(begin).Microseconds())/100); first+size <= due; first += size {
				for i := range size {
					sent[first+i] = time.Now()
				}
				if err := l.ask(first); err != nil {
					failed <- err
					return
				}
			}
		}
		failed <- nil
	}()
	for len(took) < n {
		must(b, l.receive(func(number int, _ bool) { took = append(took, time.Since(sent[number])) }))
	}
	b.StopTimer()
	used := cpu(b) - before
	assert.NilError(b, <-failed)
	slices.Sort(took)
	for name, share := range map[string]float64{"p50-us": 0.5, "p99-us": 0.99, "max-us": 1} {
		b.ReportMetric(float64(took[int(share*float64(n-1))].Microseconds()), name)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "asks/s")
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(n), "CPU-us/allocation")
}
