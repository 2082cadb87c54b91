package bench

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// reading has the clock and the resource usage of this process.
type reading struct {
	at      time.Time
	cpu     time.Duration // user and system, all threads
	gc      float64       // seconds of garbage collection, by the runtime's account
	work    float64       // seconds of the program itself, by the same account
	objects uint64        // heap allocations since the start
	bytes   uint64
}

// read takes a reading before a measurement.
func read() reading {
	r := reading{}
	r.heap()
	r.clocks()
	return r
}

func (r *reading) clocks() {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("getrusage: " + err.Error()) // it cannot fail for the own process
	}
	r.cpu, r.at = time.Duration(u.Utime.Nano()+u.Stime.Nano()), time.Now()
}

func (r *reading) heap() {
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/user:cpu-seconds"},
		{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(samples)
	r.gc, r.work = samples[0].Value.Float64(), samples[1].Value.Float64()
	r.objects, r.bytes = samples[2].Value.Uint64(), samples[3].Value.Uint64()
}

// usage is the sum of the differences between pairs of readings.
type usage struct {
	cpu, wall      time.Duration
	gc, work       float64
	objects, bytes uint64
	decisions      int
}

// add adds the difference to a reading.
func (s *usage) add(since reading, decisions int) {
	var now reading
	now.clocks()
	now.heap()
	s.cpu += now.cpu - since.cpu
	s.wall += now.at.Sub(since.at)
	s.gc += now.gc - since.gc
	s.work += now.work - since.work
	s.objects += now.objects - since.objects
	s.bytes += now.bytes - since.bytes
	s.decisions += decisions
}

// paceKind says whether the scheduler determined the speed.
type paceKind bool

const (
	unpaced paceKind = true
	paced   paceKind = false
)

// enter puts the figures into a sample. There must be decisions.
func (s *usage) enter(to Sample, p paceKind) {
	n := float64(s.decisions)
	to["cpuPerDecision"] = micros(s.cpu) / n
	to["heapAllocsPerDecision"] = float64(s.objects) / n
	to["heapBytesPerDecision"] = float64(s.bytes) / n
	// Both are from the runtime's account, which uses wall time: on a busy machine it differs from that
	// of the system. Without a collection in between both are zero.
	to["gcShare"] = 0
	if s.gc+s.work > 0 {
		to["gcShare"] = s.gc / (s.gc + s.work)
	}
	if p == unpaced {
		to["wallPerDecision"] = micros(s.wall) / n
		to["decisionsPerSecond"] = n / s.wall.Seconds()
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// The families of individually measured times, by the prefix of their metrics.
const (
	decisionTimes       = "decision"
	askTimes            = "askToAllocation"
	releaseTimes        = "releaseToNext"
	pauseTimes          = "pause"
	victimTimes         = "askToVictims"
	releasedTimes       = "victimReleaseToAllocation"
	withoutReadersTimes = "askWithoutReaders"
	withReadersTimes    = "askWithReaders"
	answerTimes         = "answer"
)

// maxDuration is the largest duration of a histogram.
const maxDuration = 2 * time.Minute

// histogram collects durations with three digits.
type histogram struct{ h *hdrhistogram.Histogram }

func newHistogram() histogram { return histogram{hdrhistogram.New(1, maxDuration.Nanoseconds(), 3)} }

func (t histogram) add(d time.Duration) {
	// The error is only possible for values out of range.
	_ = t.h.RecordValue(min(max(d.Nanoseconds(), 1), maxDuration.Nanoseconds()))
}

// percentiles are the metrics of a family, with the minimum number of values: ten beyond the
// percentile.
var percentiles = []struct {
	suffix  string
	percent float64
	least   int64
}{{"P50", 50, 10}, {"P99", 99, 100}, {"P999", 99.9, 10_000}}

// enter puts the percentiles of a family into a sample, if the family has them and there are enough
// values.
func (t histogram) enter(family string, to Sample) {
	for _, p := range percentiles {
		if name := family + p.suffix; isMetric(name) && t.h.TotalCount() >= p.least {
			to[name] = float64(t.h.ValueAtQuantile(p.percent)) / 1000
		}
	}
}

func (t histogram) encode() (string, error) {
	b, err := t.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("encoding a histogram: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b), nil
}

func decodeHistogram(text string) (t histogram, err error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		t.h, err = hdrhistogram.Decode(b)
	}
	if err != nil {
		return t, fmt.Errorf("decoding a histogram: %w", err)
	}
	return t, nil
}

// idleWindow is how long an idle scheduler is measured.
const idleWindow = time.Second

// idleShare is the share of a core that this process uses while idle.
func idleShare() float64 {
	runtime.GC() // the collection has ended on return, except for sweeping
	before := read()
	time.Sleep(idleWindow)
	var s usage
	s.add(before, 0)
	return s.cpu.Seconds() / s.wall.Seconds()
}
