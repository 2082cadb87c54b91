package measure

import (
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"
)

// Clocks are the time, and the CPU time that this process has used.
type Clocks struct {
	At         time.Time
	CPU        time.Duration // user and system, all threads
	PageFaults int64         // minor ones: memory that was touched for the first time
}

// ReadClocks reads both clocks. It allocates nothing.
func ReadClocks() Clocks {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("getrusage: " + err.Error()) // it cannot fail for the own process
	}
	return Clocks{CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano()), PageFaults: u.Minflt, At: time.Now()}
}

// Since returns the difference to an earlier reading.
func (c Clocks) Since(start Clocks) (cpu, wall time.Duration) {
	return c.CPU - start.CPU, c.At.Sub(start.At)
}

// Reading has the clocks and the resource usage of this process.
type Reading struct {
	Clocks
	gc      float64 // seconds of garbage collection, by the runtime's account
	work    float64 // seconds of the program itself, by the same account
	objects uint64  // heap allocations since the start
	bytes   uint64
}

// Read takes a reading before a measurement: the clocks last.
func Read() Reading {
	r := Reading{}
	r.heap()
	r.Clocks = ReadClocks()
	return r
}

// heap reads what the clocks do not have. It stops the program for a moment: the counts of runtime/metrics lack what
// the processors have not handed over, which is half of what a hundred decisions allocate.
func (r *Reading) heap() {
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(samples)
	r.gc, r.work = samples[0].Value.Float64(), samples[1].Value.Float64()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.objects, r.bytes = m.Mallocs, m.TotalAlloc
}

// Usage is the sum of the differences between pairs of readings.
type Usage struct {
	CPU, Wall      time.Duration
	Objects, Bytes uint64 // heap allocations
	Decisions      int    // that were made meanwhile
	gc, work       float64
}

// Add adds the difference between since and now, during which decisions were made.
func (u *Usage) Add(since Reading, decisions int) {
	now := Reading{Clocks: ReadClocks()}
	now.heap()
	cpu, wall := now.Since(since.Clocks)
	u.Join(Usage{
		CPU: cpu, Wall: wall, Objects: now.objects - since.objects, Bytes: now.bytes - since.bytes, Decisions: decisions,
		gc: now.gc - since.gc, work: now.work - since.work,
	})
}

// Join adds the usage of other pairs of readings.
func (u *Usage) Join(v Usage) {
	u.CPU, u.Wall, u.gc, u.work = u.CPU+v.CPU, u.Wall+v.Wall, u.gc+v.gc, u.work+v.work
	u.Objects, u.Bytes, u.Decisions = u.Objects+v.Objects, u.Bytes+v.Bytes, u.Decisions+v.Decisions
}

// GCShare returns the share of garbage collection in the work of the process, by the runtime's account. That uses
// wall time: on a busy machine it differs from that of the system. 0: there was no collection.
func (u *Usage) GCShare() float64 {
	if u.gc+u.work == 0 {
		return 0
	}
	return u.gc / (u.gc + u.work)
}

// Micros returns a duration in microseconds.
func Micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// IdleShare returns the share of a core that this process uses in a window of time, the least of four windows in
// succession: what was deferred until there is nothing else to do, such as the reports of waiting asks and an audit, is
// work of the time before. So is the collection of garbage, which comes first.
func IdleShare(window time.Duration) float64 {
	runtime.GC() // the collection has ended on return, except for sweeping
	least := 1.0
	for range 4 {
		before := ReadClocks()
		time.Sleep(window)
		cpu, wall := ReadClocks().Since(before)
		least = min(least, cpu.Seconds()/wall.Seconds())
	}
	return least
}

// HeapHeld returns the heap in bytes after two collections: the second frees what finalizers and pools held over the
// first.
func HeapHeld() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
