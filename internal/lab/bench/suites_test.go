package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/backfill"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
)

// requiredMetrics are figures that a measure must have, by the way it goes.
func requiredMetrics(m Measure, via string) []string {
	switch m {
	case Fill:
		figures := []string{"cpuPerDecision", "wallPerDecision", "heapAllocsPerDecision", "allocations", "utilisation"}
		if via == workload.ViaCore {
			figures = append(figures, "decisionP50", "decisionP99")
		}
		return figures
	case Churn:
		if via == workload.ViaCore {
			return []string{"cpuPerDecision", "releaseToNextP50", "decisionP50", "allocations", "utilisation"}
		}
		return []string{"cpuPerDecision", "releaseToNextP50", "idleCPU"}
	case Preempt:
		return []string{
			"cpuPerDecision", "askToVictimsP50", "victimReleaseToAllocationP50", "firstEvaluation", "victims", "nodesTried",
			"nodesRanked", "allocations",
		}
	case Steady:
		return []string{"cpuPerDecision", "askToAllocationP50", "askToAllocationP99", "allocations"}
	case Readers:
		return []string{"askWithoutReadersP50", "askWithReadersP50", "readersAddP99", "serverCPU", "readerCPU",
			"answersCorrect"}
	case Hostile:
		return []string{"serverPeakMemory", "attackMemory", "askBeforeAttackP50", "askDuringAttackP50", "attackMessages",
			"attackRefused"}
	case Recovery:
		return []string{"firstRecovery", "recovery", "recoveredPerSecond", "recoveryMemory"}
	case Recording:
		return []string{"cpuPerDecision", "recordedCPUPerDecision", "recordedRatio", "bytesPerCommand", "allocations"}
	case Memory:
		return []string{"bytesPerAsk", "bytesPerApplication", "bytesPerQueue", "bytesPerNode"}
	case Reload:
		return []string{"pauseP99"}
	case Backfill:
		return []string{"idleReserved", "wasted", "gangWaitP50", "gangWaitP95", "otherWait", "meanUtilisation"}
	case Gang:
		return []string{"gangPerMember", "gangP50", "allocations"}
	}
	panic("bench: no measure " + string(m))
}

func runJob(t *testing.T, j Job) Answer {
	t.Helper()
	a, err := Do(context.Background(), j)
	assert.NilError(t, err)
	assert.NilError(t, a.Sample.Check())
	for _, metric := range requiredMetrics(j.Measure, j.Spec.Via) {
		_, ok := a.Sample[metric]
		assert.Assert(t, ok, "no %s in %v", metric, a.Sample)
	}
	return a
}

func TestSuites_CanBeMeasured(t *testing.T) {
	for _, p := range suites(Quick, traceFiles(t)) {
		t.Run(p.Name, func(t *testing.T) {
			assert.NilError(t, p.Check(1))
			c := p.cells[0]
			c.spec.Churn = min(c.spec.Churn, 0.5) // enough for a median
			if !testscale.Full() {
				c.readers.Seconds = min(c.readers.Seconds, 1)
				c.hostile = shortenAttack(c.hostile)
			}
			a := runJob(t,
				Job{Spec: c.spec, Measure: c.measure, Seed: 1, Trace: c.trace, Once: true, Readers: c.readers, Hostile: c.hostile,
					Backfill: c.backfill})
			assert.Equal(t, len(a.Digest), 64)
		})
	}
}

// traceFiles returns a trace of four nodes and many tasks, of which one fits nowhere and one needs a GPU.
func traceFiles(t *testing.T) Trace {
	t.Helper()
	dir := t.TempDir()
	trace := Trace{filepath.Join(dir, "nodes.csv"), filepath.Join(dir, "pods.csv")}
	nodes := "sn,cpu_milli,memory_mib,gpu,model\n"
	for _, n := range []string{"a", "b", "c", "d"} {
		nodes += n + ",32000,65536,2,V100\n"
	}
	pods := "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time," +
		"scheduled_time\n"
	for i := range 120 {
		pods += fmt.Sprintf("p%d,1000,1024,0,0,,LS,Running,%d,900,\n", i, i)
	}
	pods += "gpu,1000,1024,1,460,,LS,Running,7,100,\n"
	pods += "big,400000,4096,0,0,,BE,Pending,6,100,\n"
	assert.NilError(t, os.WriteFile(trace.Nodes, []byte(nodes), 0o600))
	assert.NilError(t, os.WriteFile(trace.Pods, []byte(pods), 0o600))
	return trace
}

func TestClients_DoTheSameWork(t *testing.T) {
	spec := smallSpec()
	spec.Saturation, spec.Nodes = 1.5, 5
	want := runJob(t, Job{Spec: spec, Measure: Fill, Seed: 1, Once: true})
	spec.Via = workload.ViaInProcess
	for _, via := range []string{workload.ViaInProcess, workload.ViaGRPC} {
		t.Run(via, func(t *testing.T) {
			spec.Via = via
			s := streamOf(t, spec, 1)
			r := newResult()
			p, err := s.coreOutcome()
			assert.NilError(t, err)
			assert.Equal(t, float64(len(p)), want.Sample["allocations"])
			l, err := loadViaClient(context.Background(), s, spec.Asks)
			assert.NilError(t, err)
			received := 0
			one, err := l.fill(context.Background(), len(p))
			assert.NilError(t, err)
			enterUsage(&one, r.sample, unpaced)
			assert.Assert(t, r.sample["cpuPerDecision"] > 0)
			l.setObserver(func(int, bool) { received++ })
			// Whatever is decided before the sentinel would be one too many.
			assert.NilError(t, l.awaitSentinel(context.Background()))
			assert.NilError(t, l.awaitSentinel(context.Background()))
			assert.NilError(t, l.check())
			assert.NilError(t, l.close())
			assert.Equal(t, received, 0)
		})
	}
}

func TestClients_MeasuredAtARate(t *testing.T) {
	for _, via := range []string{workload.ViaInProcess, workload.ViaGRPC} {
		t.Run("steady "+via, func(t *testing.T) {
			spec := smallSpec()
			spec.Asks, spec.Rate, spec.Via = 1000, 20_000, via
			a := runJob(t, Job{Spec: spec, Measure: MeasureOf(spec), Seed: 1})
			assert.Equal(t, a.Sample["allocations"], 1000.0)
		})
		t.Run("churn "+via, func(t *testing.T) {
			spec := smallSpec()
			spec.Saturation, spec.Churn, spec.Rate, spec.Via, spec.Shapes = 2, 1, 10_000, via, 1
			runJob(t, Job{Spec: spec, Measure: MeasureOf(spec), Seed: 1})
		})
	}
}

func TestKeyCodec_ReadsKeys(t *testing.T) {
	for _, broken := range [][]byte{{0xff}, {0x0a, 0x05, 0x01}, {0x0a}} {
		assert.ErrorContains(t, new(keyAnswer).read(broken), "not an answer about allocations")
	}
	assert.Equal(t, string(fieldIn([]byte{0x0a, 0x01, 'x', 0x12, 0x01, 'y'}, 2)), "y")
	assert.Equal(t, string(fieldIn([]byte{0x08, 0x01}, 2)), "")
	assert.Equal(t, string(fieldIn([]byte{0x0a}, 1)), "")
}

func TestDo_Errors(t *testing.T) {
	spec, openb := smallSpec(), backfill.Spec{GPUs: 8, Load: 1, Openb: true}
	all, without := traceFiles(t), filepath.Join(t.TempDir(), "pods.csv")
	pods, err := os.ReadFile(all.Pods)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(without, bytes.ReplaceAll(pods, []byte("1,460"), []byte("0,0")), 0o600))
	for _, c := range []struct {
		job  Job
		want string
	}{
		{Job{Measure: Fill}, "--depth is 0"},
		{Job{Spec: spec, Measure: "nonsense"}, `there is no measure "nonsense"`},
		{Job{Spec: spec, Measure: Fill, CPUProfile: filepath.Join(t.TempDir(), "no", "file")}, "no such file"},
		{Job{Spec: spec, Measure: Fill, Trace: Trace{"no-nodes.csv", "no-pods.csv"}}, "no-nodes.csv"},
		{Job{Measure: Backfill, Backfill: openb, Trace: Trace{"no-nodes.csv", "no-pods.csv"}}, "no-nodes.csv"},
		{Job{Measure: Backfill, Backfill: openb, Trace: Trace{all.Nodes, without}}, without + " has GPUs"},
	} {
		_, err := Do(context.Background(), c.job)
		assert.ErrorContains(t, err, c.want)
	}
}

func TestDo_WritesProfiles(t *testing.T) {
	dir := t.TempDir()
	j := Job{Spec: smallSpec(), Measure: Fill, Seed: 1, Once: true, CPUProfile: filepath.Join(dir, "cpu"),
		MemProfile: filepath.Join(dir, "mem")}
	runJob(t, j)
	for _, file := range []string{j.CPUProfile, j.MemProfile} {
		info, err := os.Stat(file)
		assert.NilError(t, err)
		assert.Assert(t, info.Size() > 0, file)
	}
}
