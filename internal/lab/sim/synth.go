package sim

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Synth are the parameters of a synthetic trace. The same values give the same trace on every machine:
// no function is used whose last bit differs between machines.
type Synth struct {
	Nodes, Tasks int
	Seed         uint64
	// the work of all tasks divided by the capacity of the scarcest resource in the time in which tasks arrive
	Load      float64
	GPU       float64        // share of the tasks with GPUs, from 0 to 1
	SharedGPU float64        // share of the tasks with one GPU that use a part of it
	GPUSpec   float64        // share of the tasks with GPUs that name accepted models
	QoS       map[string]int // weights of the classes; missing: 0. The sum is at least 1
}

// DefaultSynth returns the trace in examples/trace.
func DefaultSynth() Synth {
	return Synth{
		Nodes: 24, Tasks: 400, Seed: 1, Load: 1.2, GPU: 0.8, SharedGPU: 0.5,
		QoS: map[string]int{"LS": 45, "BE": 42, "Burstable": 10, "Guaranteed": 3},
	}
}

// SynthNode is a node of a synthetic trace.
type SynthNode struct {
	Node
	Model string // of its GPUs; empty: no GPU
}

// SynthTask is a task of a synthetic trace.
type SynthTask struct {
	Task
	GPUs  int64 // whole ones
	Milli int64 // thousandths of each GPU that it uses
}

// synthMachines are the nodes, in the order in which they repeat. The largest task fits on the first.
var synthMachines = func() []SynthNode {
	a100 := SynthNode{machine8, "A100"}
	return []SynthNode{
		a100, {machineT4, "T4"}, {machineV100, "V100"}, {machineCPU, ""}, {machineT4, "T4"}, {machineA10, "A10"},
		{machineCPU, ""}, {machineV100, "V100"}, a100, {machineT4, "T4"}, {machineSmall, ""}, {machineA10, "A10"},
	}
}()

var (
	machine8     = Node{Capacity: synthAmounts(96_000, 786_432, 8*WholeGPU, podsPerNode)}
	machineV100  = Node{Capacity: synthAmounts(64_000, 262_144, 4*WholeGPU, podsPerNode)}
	machineT4    = Node{Capacity: synthAmounts(64_000, 262_144, 2*WholeGPU, podsPerNode)}
	machineA10   = Node{Capacity: synthAmounts(32_000, 131_072, 1*WholeGPU, podsPerNode)}
	machineCPU   = Node{Capacity: synthAmounts(64_000, 262_144, 0, podsPerNode)}
	machineSmall = Node{Capacity: synthAmounts(32_000, 131_072, 0, podsPerNode)}
)

// synthSize is the size of a task or of a node; GPUs are whole or thousandths. A size is drawn in
// proportion to its weight.
type synthSize struct {
	weight, milliCPU, mebibytes, gpus int64
}

var (
	sizesWithoutGPU = []synthSize{
		{6, 500, 1_024, 0}, {6, 1_000, 2_048, 0}, {8, 2_000, 4_096, 0}, {8, 4_000, 8_192, 0}, {4, 8_000, 32_768, 0},
		{2, 16_000, 65_536, 0}, {1, 32_000, 98_304, 0},
	}
	sizesWithOneGPU = []synthSize{{4, 2_000, 8_192, 1}, {6, 4_000, 16_384, 1}, {8, 8_000, 32_768, 1},
		{3, 12_000, 49_152, 1}}
	sizesWithGPUs = []synthSize{{8, 16_000, 65_536, 2}, {3, 32_000, 131_072, 4}, {1, 64_000, 262_144, 8}}
	gpuParts      = []synthSize{{weight: 4, gpus: 200}, {weight: 2, gpus: 330}, {weight: 5, gpus: 500},
		{weight: 2, gpus: 700}}
)

// multiGPUPercent is the share of tasks with GPUs that want more than one.
const multiGPUPercent = 7

// synthSpecs are the values of gpu_spec.
var synthSpecs = [...]string{"A100", "V100", "T4", "A10", "A100|V100", "T4|A10"}

// synthSeconds are durations of tasks: eleven quantiles for each class in ascending order, with uniform
// distributions between them.
var synthSeconds = map[string][11]int64{
	"LS":         {60, 600, 1_800, 3_600, 5_400, 9_000, 14_400, 25_200, 43_200, 86_400, 259_200},
	"BE":         {20, 60, 150, 300, 600, 1_200, 2_100, 3_600, 7_200, 14_400, 86_400},
	"Burstable":  {30, 120, 400, 900, 1_500, 2_700, 4_500, 7_200, 12_600, 28_800, 129_600},
	"Guaranteed": {600, 3_600, 7_200, 10_800, 14_400, 21_600, 28_800, 43_200, 64_800, 108_000, 345_600},
}

// synthDay has the relative numbers of tasks that arrive in each hour of a day.
var synthDay = [24]int{4, 3, 2, 2, 2, 3, 4, 6, 9, 11, 12, 11, 9, 10, 12, 12, 11, 10, 8, 7, 7, 6, 6, 5}

// Make generates the trace, with the tasks in the order of arrival. The error says that the load is so
// small that the trace would exceed maxTraceSeconds. The values must be valid.
func (s Synth) Make() ([]SynthNode, []SynthTask, error) {
	nodes := make([]SynthNode, s.Nodes)
	var capacity resources.Amounts
	for i := range nodes {
		nodes[i] = synthMachines[i%len(synthMachines)]
		nodes[i].ID = objects.NodeID(fmt.Sprintf("node-%0*d", digits(s.Nodes), i))
		capacity = capacity.Add(nodes[i].Capacity)
	}
	rng := rand.New(rand.NewPCG(s.Seed, 3))
	tasks, lasts := make([]SynthTask, s.Tasks), make([]int64, s.Tasks)
	var work synthSize // times seconds; 1,000,000 of the largest tasks do not overflow
	for i := range tasks {
		tasks[i] = s.drawTask(rng)
		lasts[i] = duration(rng, tasks[i].QoS)
		wants := sizeOf(tasks[i].Amounts)
		work.milliCPU += wants.milliCPU * lasts[i]
		work.mebibytes += wants.mebibytes * lasts[i]
		work.gpus += wants.gpus * lasts[i]
	}
	span, has := 1.0, sizeOf(capacity)
	for _, x := range [][2]int64{{work.milliCPU, has.milliCPU}, {work.mebibytes, has.mebibytes}, {work.gpus, has.gpus}} {
		if x[1] > 0 {
			span = max(span, math.Ceil(float64(x[0])/(float64(x[1])*s.Load)))
		}
	}
	const longestTask = 345_600
	if span > maxTraceSeconds-longestTask {
		return nil, nil,
			fmt.Errorf("with a load of %v the tasks would arrive within %.0f s, and a trace is at most %d s long", s.Load, span,
				maxTraceSeconds)
	}
	come := make([]int64, s.Tasks)
	for i := range come {
		come[i] = arrival(rng, int64(span))
	}
	slices.Sort(come)
	for i := range tasks {
		tasks[i].Name = fmt.Sprintf("task-%0*d", digits(s.Tasks), i)
		tasks[i].Created, tasks[i].Deleted = come[i], come[i]+lasts[i]
	}
	return nodes, tasks, nil
}

// drawTask draws a task without name and times.
func (s Synth) drawTask(rng *rand.Rand) (t SynthTask) {
	t.QoS = s.drawQoS(rng)
	size, of := drawSize(rng, sizesWithoutGPU), int64(0)
	if rng.Float64() < s.GPU {
		size, of = drawSize(rng, sizesWithOneGPU), WholeGPU
		switch {
		case rng.IntN(100) < multiGPUPercent:
			size = drawSize(rng, sizesWithGPUs)
		case rng.Float64() < s.SharedGPU:
			of = drawSize(rng, gpuParts).gpus
		}
		if rng.Float64() < s.GPUSpec {
			t.GPUSpec = synthSpecs[rng.IntN(len(synthSpecs))]
		}
	}
	t.GPUs, t.Milli = size.gpus, of
	t.Amounts = synthAmounts(size.milliCPU, size.mebibytes, size.gpus*of, 1)
	return t
}

func (s Synth) drawQoS(rng *rand.Rand) string {
	sum := 0
	for _, n := range s.QoS {
		sum += n
	}
	n := rng.IntN(sum)
	for _, class := range slices.Sorted(maps.Keys(s.QoS)) {
		n -= s.QoS[class]
		if n < 0 {
			return class
		}
	}
	panic("the weights do not add up to their sum")
}

func drawSize(rng *rand.Rand, from []synthSize) synthSize {
	var sum int64
	for _, x := range from {
		sum += x.weight
	}
	n := rng.Int64N(sum)
	for _, x := range from {
		n -= x.weight
		if n < 0 {
			return x
		}
	}
	panic("the weights do not add up to their sum")
}

func duration(rng *rand.Rand, qos string) int64 {
	q := synthSeconds[qos]
	i := rng.IntN(len(q) - 1)
	return q[i] + rng.Int64N(q[i+1]-q[i]+1)
}

// arrival returns a second below span; more tasks arrive by day than at night.
func arrival(rng *rand.Rand, span int64) int64 {
	most := slices.Max(synthDay[:])
	for {
		t := rng.Int64N(span)
		if rng.IntN(most) < synthDay[t/3600%24] {
			return t
		}
	}
}

func sizeOf(a resources.Amounts) synthSize {
	return synthSize{milliCPU: int64(a.Get(resources.VCore)), mebibytes: int64(mebibytesOf(a)), gpus: int64(a.Get(GPU))}
}

func synthAmounts(milliCPU, mebibytes, gpu, pod int64) resources.Amounts {
	const mebibyte = 1 << 20
	return resources.FromMap(map[string]resources.Quantity{
		resources.VCore: resources.Quantity(milliCPU), "memory": resources.Quantity(mebibytes * mebibyte),
		GPU: resources.Quantity(gpu), pods: resources.Quantity(pod),
	})
}

// digits returns how many digits the numbers below n need, at least 2.
func digits(n int) int { return max(2, len(fmt.Sprint(n-1))) }
