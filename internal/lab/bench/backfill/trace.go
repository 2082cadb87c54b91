package backfill

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
)

// Spec describes what is played. The trace follows from it and a seed: another Mode has the same one, and another
// Factor the same jobs with other bounds.
type Spec struct {
	GPUs   int     `json:"gpus"`             // of the cluster, a multiple of those of a node
	Load   float64 `json:"load"`             // GPU-hours of all jobs, by those of the cluster in Trace.Window
	Factor float64 `json:"factor,omitempty"` // bound of each job, by its duration: at least 1
	Openb  bool    `json:"openb,omitempty"`  // the jobs are those of the openb trace, see OpenbTrace
	Mode   Mode    `json:"mode"`
}

// Trace holds the jobs in the order of their arrival.
type Trace struct {
	Window time.Duration // in which they arrive, and over which GPU-hours are counted
	Jobs   []Job
}

// Mode names what schedules the jobs.
type Mode string

// The modes.
const (
	Off          Mode = "off"          // the Core, with reservation.backfill: off
	Bounded      Mode = "bounded"      // the Core, with reservation.backfill: bounded
	EASY         Mode = "easy"         // see easy
	Conservative Mode = "conservative" // see conservative
)

// The distributions of the traces. They were fixed before the first figure was seen. Seeds are 1 to the number of runs,
// unless a flag says otherwise.
const (
	gpusPerNode = 8
	leaves      = 4 // each job is of one of them, all as likely

	gangShare = 0.1

	// Durations are log-normal. Half of all jobs run for less than an hour, and the long ones hold most of the GPUs, as
	// training jobs do. The cuts leave out what fails at once, and keep a job well below the length of a trace.
	medianDuration = time.Hour
	sigmaDuration  = 1.2 // of the logarithm; with it the mean is two hours
	minDuration    = 10 * time.Minute
	maxDuration    = 24 * time.Hour
)

// GPUs of gangs, of their members and of the other jobs; of each list all are as likely. A gang has at most half of the
// cluster: one of 64 GPUs in a cluster of 64 would measure only how the cluster drains. It has at least two members.
var (
	gangSizes   = []int{8, 16, 32, 64}
	memberSizes = []int{2, 4, 8}
	otherSizes  = []int{1, 1, 1, 1, 2, 2, 4, 8} // half of them ask for one GPU
)

// window returns the Window of made-up traces. A large cluster has as many jobs in less time.
func (s Spec) window() time.Duration {
	if s.GPUs > 64 {
		return 2 * 24 * time.Hour
	}
	return 7 * 24 * time.Hour
}

// Job is one allocation, or a gang of several that start together.
type Job struct {
	Arrival  time.Duration // since the beginning of the trace
	Duration time.Duration
	Bound    time.Duration // how long it says that it runs at most
	Members  int
	Each     int // GPUs of each member
	Gang     bool
	Leaf     int
}

// GPUs returns how many GPUs all members have together.
func (j *Job) GPUs() int { return j.Members * j.Each }

// within returns the GPU-hours of j in the first window of the trace if it runs from one time to another.
func (j *Job) within(window, from, to time.Duration) float64 {
	return float64(j.GPUs()) * max(min(to, window)-min(from, window), 0).Hours()
}

// MadeUpTrace returns a trace with as many jobs as make the load. Given their number, arrivals of a Poisson process are
// independent and uniform in the window.
func (s Spec) MadeUpTrace(seed uint64) Trace {
	rng := rand.New(rand.NewPCG(seed, uint64(s.GPUs)))
	var jobs []Job
	for left := s.Load * float64(s.GPUs) * s.window().Hours(); left > 0; {
		j := s.drawJob(rng)
		left -= float64(j.GPUs()) * j.Duration.Hours()
		jobs = append(jobs, j)
	}
	sortByArrival(jobs)
	return Trace{s.window(), jobs}
}

func sortByArrival(jobs []Job) {
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
}

// OpenbTrace returns the tasks of an openb trace that need GPUs, with their durations. A share of a GPU counts as a
// whole one, and other resources do not count. Arrivals keep their order and the proportions between them, and are so
// close to each other that they make the load. The leaves are drawn. There must be a task with GPUs.
func (s Spec) OpenbTrace(tasks []sim.Task, seed uint64) Trace {
	rng := rand.New(rand.NewPCG(seed, uint64(s.GPUs)))
	var t Trace
	var last time.Duration
	var hours float64
	for _, x := range tasks {
		gpus := int((max(x.Amounts.Get(sim.GPU), 0) + sim.WholeGPU - 1) / sim.WholeGPU)
		if gpus == 0 {
			continue
		}
		j := Job{Arrival: time.Duration(x.Created) * time.Second, Members: 1, Each: gpus, Leaf: rng.IntN(leaves)}
		j.Duration = time.Duration(max(x.Deleted-x.Created, 1)) * time.Second
		j.Bound = s.bound(j.Duration)
		last, hours = max(last, j.Arrival), hours+float64(gpus)*j.Duration.Hours()
		t.Jobs = append(t.Jobs, j)
	}
	t.Window = time.Duration(hours / (s.Load * float64(s.GPUs)) * float64(time.Hour))
	for i := range t.Jobs {
		j := &t.Jobs[i]
		j.Arrival = time.Duration(float64(j.Arrival) / float64(max(last, 1)) * float64(t.Window)).Round(time.Second)
	}
	sortByArrival(t.Jobs)
	return t
}

func (s Spec) bound(d time.Duration) time.Duration {
	return time.Duration(float64(d) * max(s.Factor, 1))
}

// isLarge reports whether the waits of j are those of GangWaitP50 and GangWaitP95: it is a gang, or, in openb, which
// has none, it needs a whole node.
func (s Spec) isLarge(j *Job) bool { return j.Gang || s.Openb && j.Each == gpusPerNode }

func (s Spec) drawJob(rng *rand.Rand) Job {
	pick := func(sizes []int) int { return sizes[rng.IntN(len(sizes))] }
	j := Job{Members: 1, Leaf: rng.IntN(leaves), Gang: rng.Float64() < gangShare}
	if j.Gang {
		size := min(pick(gangSizes), s.GPUs/2)
		j.Each = min(pick(memberSizes), size/2)
		j.Members = size / j.Each
	} else {
		j.Each = pick(otherSizes)
	}
	drawn := float64(medianDuration) * math.Exp(sigmaDuration*rng.NormFloat64())
	j.Duration = time.Duration(min(max(drawn, float64(minDuration)), float64(maxDuration))).Round(time.Second)
	j.Bound = s.bound(j.Duration)
	j.Arrival = time.Duration(rng.Float64() * float64(s.window())).Round(time.Second)
	return j
}

// Workload returns what a report says of the cluster. Asks and applications follow from the trace.
func (s Spec) Workload() workload.Spec {
	return workload.Spec{Depth: 1, Fanout: leaves, Nodes: s.GPUs / gpusPerNode, Types: 1, Priorities: 1, Sort: "fifo",
		NodeSort: "binpacking", Saturation: s.Load, Via: workload.ViaCore}
}

// Digest returns a digest of the Spec and of a trace of it, which differs if the distributions do.
func (s Spec) Digest(t Trace) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%v %v", s, t)))
}
