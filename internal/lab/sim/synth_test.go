package sim_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func smallSynth(change func(*sim.Synth)) sim.Synth {
	s := sim.DefaultSynth()
	s.Nodes, s.Tasks = 60, 4000
	change(&s)
	return s
}

func TestSynth_WriteReadRoundTrip(t *testing.T) {
	nodes, tasks, err := smallSynth(func(s *sim.Synth) { s.GPUSpec = 0.3 }).Make()
	assert.NilError(t, err)
	var text bytes.Buffer
	assert.NilError(t, sim.WriteNodes(&text, nodes))
	read, err := sim.ReadNodes("nodes.csv", &text)
	assert.NilError(t, err)
	assert.Equal(t, len(read), len(nodes))
	for i := range nodes {
		assert.Assert(t, reflect.DeepEqual(read[i], nodes[i].Node), "%+v, and not %+v", read[i], nodes[i].Node)
		assert.Equal(t, nodes[i].Model == "", nodes[i].Capacity.Get(sim.GPU) == 0)
	}
	text.Reset()
	assert.NilError(t, sim.WriteTasks(&text, tasks))
	back, err := sim.ReadTasks("pods.csv", &text)
	assert.NilError(t, err)
	assert.Equal(t, len(back), len(tasks))
	specs := 0
	for i := range tasks {
		assert.Assert(t, reflect.DeepEqual(back[i], tasks[i].Task), "%+v, and not %+v", back[i], tasks[i].Task)
		if tasks[i].GPUSpec != "" {
			specs++
			assert.Assert(t, tasks[i].GPUs > 0, "gpu_spec needs a GPU")
		}
	}
	assert.Assert(t, almostEqual(float64(specs)/4000, 0.3*0.8, 0.03), "%d", specs)
}

func TestSynth_SharesAndWeightsAreKept(t *testing.T) {
	_, tasks, err := smallSynth(func(s *sim.Synth) {
		s.GPU, s.SharedGPU, s.QoS = 0.6, 0.25, map[string]int{"LS": 1, "BE": 3}
	}).Make()
	assert.NilError(t, err)
	gpus, one, parts, ls := 0.0, 0.0, 0.0, 0.0
	for i, x := range tasks {
		assert.Assert(t, i == 0 || tasks[i-1].Created <= x.Created)
		assert.Assert(t, x.Created < x.Deleted)
		if x.QoS == "LS" {
			ls++
		} else {
			assert.Equal(t, x.QoS, "BE")
		}
		switch {
		case x.GPUs > 1:
			gpus++
			assert.Equal(t, x.Milli, int64(1000), "a task with several GPUs uses whole ones")
		case x.GPUs == 1:
			gpus++
			one++
			if x.Milli < 1000 {
				parts++
			}
		}
	}
	assert.Assert(t, almostEqual(gpus/4000, 0.6, 0.03), "%v", gpus)
	assert.Assert(t, almostEqual(parts/one, 0.25, 0.03), "%v of %v", parts, one)
	assert.Assert(t, almostEqual(ls/4000, 0.25, 0.03), "%v", ls)

	for _, share := range []float64{0, 1} {
		_, tasks, err := smallSynth(func(s *sim.Synth) { s.GPU, s.SharedGPU, s.GPUSpec = share, share, share }).Make()
		assert.NilError(t, err)
		for _, x := range tasks {
			assert.Equal(t, x.GPUs > 0, share == 1)
			assert.Equal(t, x.GPUSpec != "", share == 1)
			assert.Assert(t, x.GPUs != 1 || x.Milli < 1000)
		}
	}
}

// The work of all tasks in the scarcest resource is Load times the capacity in the time in which tasks
// arrive.
func TestSynth_LoadIsKept(t *testing.T) {
	for _, load := range []float64{0.01, 0.5, 1.2, 7} {
		for _, gpu := range []float64{0, 0.8} {
			nodes, tasks, err := smallSynth(func(s *sim.Synth) { s.Load, s.GPU = load, gpu }).Make()
			assert.NilError(t, err)
			var capacity resources.Amounts
			for _, n := range nodes {
				capacity = capacity.Add(n.Capacity)
			}
			work, highest := map[string]float64{}, 0.0
			for _, x := range tasks {
				for name, n := range x.Amounts.All() {
					work[name] += float64(n) * float64(x.Deleted-x.Created)
				}
			}
			delete(work, "pods")
			for name, n := range work {
				highest = max(highest, n/float64(capacity.Get(name))/float64(tasks[len(tasks)-1].Created))
			}
			assert.Assert(t, almostEqual(highest/load, 1, 0.02), "load %v, GPUs %v: %v", load, gpu, highest)
		}
	}
	_, _, err := smallSynth(func(s *sim.Synth) { s.Load = 1e-6 }).Make()
	assert.ErrorContains(t, err, "with a load of 1e-06 the tasks would arrive within ")
}

func TestSynth_SameSeedSameTrace(t *testing.T) {
	text := func(seed uint64) string {
		var b bytes.Buffer
		nodes, tasks, err := smallSynth(func(s *sim.Synth) { s.Seed = seed }).Make()
		assert.NilError(t, err)
		assert.NilError(t, sim.WriteNodes(&b, nodes))
		assert.NilError(t, sim.WriteTasks(&b, tasks))
		return b.String()
	}
	assert.Equal(t, text(1), text(1))
	assert.Assert(t, text(1) != text(2))
}

// More tasks arrive by day than at night, the largest task fits on the first node, and services run
// longest.
func TestSynth_IsRealistic(t *testing.T) {
	for n := 1; n < 30; n++ {
		nodes, tasks, err := smallSynth(func(s *sim.Synth) { s.Nodes, s.Load = n, 0.3 }).Make()
		assert.NilError(t, err)
		assert.Equal(t, len(nodes), n)
		for _, x := range tasks {
			assert.Assert(t, nodes[0].Capacity.Covers(x.Amounts), "%v", x)
		}
	}
	_, tasks, err := smallSynth(func(s *sim.Synth) { s.Load = 0.3 }).Make()
	assert.NilError(t, err)
	var hours [24]int
	lasts, sizes := map[string][]int64{}, map[string]bool{}
	for _, x := range tasks {
		hours[x.Created/3600%24]++
		lasts[x.QoS] = append(lasts[x.QoS], x.Deleted-x.Created)
		sizes[fmt.Sprint(x.Amounts)] = true
	}
	assert.Assert(t, hours[14]+hours[15] > 3*(hours[2]+hours[3]), "%v", hours)
	median := func(class string) int64 {
		slices.Sort(lasts[class])
		return lasts[class][len(lasts[class])/2]
	}
	assert.Assert(t, median("LS") > 5*median("BE"), "%d and %d", median("LS"), median("BE"))
	assert.Assert(t, len(sizes) > 20, "%d sizes", len(sizes))
	names := map[string]bool{}
	for _, x := range tasks {
		assert.Assert(t, !names[x.Name] && strings.HasPrefix(x.Name, "task-"), x.Name)
		names[x.Name] = true
	}
}

func almostEqual(got, want, by float64) bool { return math.Abs(got-want) <= by }
