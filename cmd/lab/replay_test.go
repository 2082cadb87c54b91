package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

const (
	sampleNodes = "../../internal/lab/sim/testdata/nodes.csv"
	samplePods  = "../../internal/lab/sim/testdata/pods.csv"
)

// narrowYAML has a small max for the queue of class LS.
const narrowYAML = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - {name: ls, resources: {max: {vcore: 100}}}
          - {name: be}
          - {name: burstable}
          - {name: guaranteed}
`

// replaySample replays the sample.
func replaySample(args ...string) (code int, out, errs string) {
	return runLab(append([]string{"replay", "--nodes", sampleNodes, "--pods", samplePods}, args...)...)
}

func TestReplay_Fill(t *testing.T) {
	defer goleak.VerifyNone(t)
	code, out, errs := replaySample("--output", "json")
	assert.Equal(t, code, 0, errs)
	r := readReport(t, out, "balance", "preemption")
	assert.Equal(t, r.Nodes, 12)
	assert.Equal(t, r.Applications, 80)
	assert.Equal(t, r.Asks, 80)
	assert.Equal(t, r.Allocated+r.Pending, 80)
	assert.Assert(t, r.Allocated > 50 && r.Pending > 0)
	assert.Equal(t, r.AllocatedResources["pods"], int64(r.Allocated))
	var paths []string
	for _, q := range r.Queues {
		paths = append(paths, q.Path)
	}
	assert.DeepEqual(t, paths, []string{"root", "root.be", "root.burstable", "root.guaranteed", "root.ls"})
	const warning = "warning: 1 of 80 tasks name a model of GPU in gpu_spec, which has no effect"
	assert.Assert(t, strings.Contains(errs, warning), errs)
}

func TestReplay_Lifetimes(t *testing.T) {
	defer goleak.VerifyNone(t)
	code, out, errs := replaySample("--mode", "lifetimes", "--output", "json")
	assert.Equal(t, code, 0, errs)
	r := readReport(t, out, "balance", "preemption")
	assert.Equal(t, r.Pending, 0)
	assert.Equal(t, r.Released, r.Allocated)
	assert.DeepEqual(t, r.AllocatedResources, map[string]int64{})
	assert.DeepEqual(t, r.Queues[0].Allocated, map[string]int64{})

	code, out, errs = replaySample("--mode", "lifetimes")
	assert.Equal(t, code, 0, errs)
	const summary = "77 of 80 tasks were placed, with 73.6 GPUs\n3 ended while they were pending\n"
	assert.Assert(t, strings.Contains(out, summary), out)
}

func TestReplay_IsDeterministic(t *testing.T) {
	for _, mode := range []string{"fill", "lifetimes"} {
		t.Run(mode, func(t *testing.T) {
			want, err := os.ReadFile("../../internal/lab/sim/testdata/" + mode + ".txt")
			assert.NilError(t, err)
			for range 2 {
				name := filepath.Join(t.TempDir(), "decisions")
				code, _, errs := replaySample("--mode", mode, "--decisions", name)
				assert.Equal(t, code, 0, errs)
				got, err := os.ReadFile(name)
				assert.NilError(t, err)
				assert.Assert(t, bytes.Equal(got, want), "%s", got)
			}
		})
	}
}

func TestReplay_Limit(t *testing.T) {
	code, out, errs := replaySample("--limit", "10", "--output", "json")
	assert.Equal(t, code, 0, errs)
	assert.Equal(t, readReport(t, out, "balance", "preemption").Asks, 10)
	code, out, errs = replaySample("--limit", "1000", "--seed", "4", "--output", "json")
	assert.Equal(t, code, 0, errs)
	assert.Equal(t, readReport(t, out, "balance", "preemption").Asks, 80)
}

// Tasks whose amounts add up past 64 bits: the first is accepted, and the next are rejected.
func TestReplay_RejectedTasksAreListed(t *testing.T) {
	pods, err := os.ReadFile(samplePods)
	assert.NilError(t, err)
	text := string(pods)
	for _, name := range []string{"task-001", "task-002", "task-003"} {
		i := strings.Index(text, "\n"+name+",") + 1
		cells := strings.SplitN(text[i:], ",", 3)
		text = text[:i] + cells[0] + ",9000000000000000000," + cells[2]
	}
	file := writeTempFile(t, "pods.csv", text)
	const reason = "quantities add up past 64 bits"
	for _, mode := range []string{"fill", "lifetimes"} {
		code, out, errs := replaySample("--pods", file, "--mode", mode, "--output", "json")
		assert.Equal(t, code, 0, errs)
		r := readReplay(t, out)
		assert.Equal(t, r.Rejected, len(r.Rejections))
		assert.Assert(t, r.Rejected > 0)
		counted := 0
		for _, x := range r.Rejections {
			assert.Equal(t, x.Reason, reason)
		}
		for _, q := range r.Preemption.ByQoS {
			counted += q.Rejected
			if mode == "fill" {
				assert.Equal(t, q.Running+q.Waiting+q.NotResubmitted+q.Rejected, q.Tasks, q.QoS)
			}
		}
		assert.Equal(t, counted, r.Rejected)

		code, out, errs = replaySample("--pods", file, "--mode", mode)
		assert.Equal(t, code, 0, errs)
		want := fmt.Sprintf("\n%d of 80 asks were rejected:\n  %s: %s\n", r.Rejected, r.Rejections[0].Key, reason)
		assert.Assert(t, strings.Contains(out, want), "%s in\n%s", want, out)
		assert.Assert(t,
			strings.Contains(out, "every invariant held, and every task that was accepted and could be placed was\n"), out)
	}
}

func TestReplay_RejectionsInText(t *testing.T) {
	all := make([]sim.Rejection, 7)
	for i := range all {
		all[i] = sim.Rejection{Key: objects.AllocationKey(fmt.Sprintf("k%d", i)), Reason: "no\nreason"}
	}
	r := replayReport{Rejections: firstRejections(all)}
	assert.Equal(t, len(r.rejectionLines()), 0, "nothing was rejected")
	r.Asks, r.Rejected = 1234, len(all)
	assert.DeepEqual(t, r.rejectionLines(), []string{"7 of 1,234 asks were rejected:",
		"  k0: no?reason", "  k1: no?reason", "  k2: no?reason", "  k3: no?reason", "  k4: no?reason", "  and 2 more"})

	p := replayPreemption{Preemption: sim.Preemption{ByQoS: []sim.QoSLine{{QoS: "ls", Tasks: 9, Rejected: 4}}}}
	lines := strings.Join(p.lines(), "\n")
	assert.Assert(t, strings.Contains(lines, "NOT RESUBMITTED  REJECTED\n") &&
		strings.Contains(lines, "  0                4\n"), lines)
}

// The report of a scheduler at --address is the same, apart from times.
func TestReplay_AgainstAddress(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, err := sim.Serve(t.Context(), sim.ServerOptions{})
	assert.NilError(t, err)
	defer func() { assert.NilError(t, s.Close()) }()
	for _, mode := range []string{"fill", "lifetimes", "fill"} { // each replaces the one before
		code, out, errs := replaySample("--mode", mode, "--output", "json")
		assert.Equal(t, code, 0, errs)
		own := readReport(t, out, "balance", "preemption")
		code, out, errs = replaySample("--mode", mode, "--output", "json", "--address", s.Address())
		assert.Equal(t, code, 0, errs)
		other := readReport(t, out, "balance", "preemption")
		own.WallSeconds, own.AllocationsPerSecond, own.LatencyMillis = 0, 0, other.LatencyMillis
		other.WallSeconds, other.AllocationsPerSecond = 0, 0
		assert.DeepEqual(t, other, own)
	}
}

// A scheduler with another configuration does not place tasks that the client finds feasible.
func TestReplay_BrokenInvariantIsReported(t *testing.T) {
	text := strings.Replace(narrowYAML, "vcore: 100", "vcore: 1", 1)
	first, err := reload.Read(reload.File, "", []byte(text), queuesyaml.Options{})
	assert.NilError(t, err)
	s, err := sim.Serve(t.Context(), sim.ServerOptions{Config: first})
	assert.NilError(t, err)
	defer func() { assert.NilError(t, s.Close()) }()
	code, out, errs := replaySample("--address", s.Address(), "--config", writeTempFile(t, "queues.yaml", narrowYAML))
	assert.Equal(t, code, 1)
	assert.Equal(t, out, "")
	assert.Assert(t, strings.Contains(errs, "of queue root.ls is pending, and node "), errs)
}

func TestReplay_Config(t *testing.T) {
	config := writeTempFile(t, "queues.yaml", narrowYAML)
	code, out, errs := replaySample("--config", config, "--output", "json")
	assert.Equal(t, code, 0, errs)
	ls := readReport(t, out, "balance", "preemption").Queues[4]
	assert.Equal(t, ls.Max["vcore"], int64(100_000))
	assert.Assert(t, ls.Allocated["vcore"] <= 100_000 && len(ls.Pending) > 0)
}

func TestReplay_InvalidInput(t *testing.T) {
	bad := writeTempFile(t, "bad.csv", "sn,cpu_milli,memory_mib,gpu,model\nn1,1,1,1,\nn2,1,lots,1,\n")
	fewer := writeTempFile(t, "fewer.yaml", strings.Replace(narrowYAML, "- {name: be}", "- {name: more}", 1))
	broken := writeTempFile(t, "broken.yaml", "partitions: 1\n")
	pods, err := os.ReadFile(samplePods)
	assert.NilError(t, err)
	strange := writeTempFile(t, "strange.csv", strings.Replace(string(pods), ",BE,Running,123", ",Odd,Running,123", 1))
	other := writeTempFile(t, "other.yaml", "partitions:\n  - name: gpu\n    queues: []\n")
	preempting := filepath.Join(moduleRoot, "examples", "openb-preemption.yaml")
	files := []string{"--nodes", sampleNodes, "--pods", samplePods}
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"no files", nil, "--nodes names no file\n--pods names no file"},
		{"an unknown mode", append(files, "--mode", "all"), `--mode is fill, lifetimes or durations, not "all"`},
		{"a negative limit", append(files, "--limit", "-1"), "--limit is -1, and cannot be below 0"},
		{"a missing file", []string{"--nodes", "none.csv", "--pods", samplePods}, "none.csv: no such file"},
		{"a file with a mistake", []string{"--nodes", bad, "--pods", samplePods},
			bad + `:3: column memory_mib: "lots" is not a whole number`},
		{"nodes and tasks exchanged", []string{"--nodes", samplePods, "--pods", sampleNodes},
			samplePods + ":1: column sn is missing"},
		{"a class without a leaf", append(files, "--config", fewer), "has QoS class BE, and there is no " +
			"leaf root.be"},
		{"a broken configuration", append(files, "--config", broken), broken + ":1:"},
		{"no partition", append(files, "--config", other), "there is no partition default"},
		{"decisions over an input", append(files, "--decisions", samplePods), "--decisions and --pods name the same file"},
		{"decisions that cannot be written", append(files, "--decisions", filepath.Join(t.TempDir(), "no", "where")),
			"no such file"},
		{"more than 100 percent of the nodes", append(files, "--nodes-percent", "101"),
			"--nodes-percent is 101, and must be from 1 to 100"},
		{"no node", append(files, "--nodes-percent", "5"), "--nodes-percent 5 leaves no node"},
		{"an unknown order", append(files, "--order", "size"), `--order is age or qos, not "size"`},
		{"an order with lifetimes", append(files, "--order", "qos", "--mode", "lifetimes"), "--order qos is for --mode fill"},
		{"a load of a fill", append(files, "--load", "2"), "--load is for --mode durations"},
		{"no load", append(files, "--load", "0", "--mode", "durations"),
			"--load is 0, and must be above 0 and at most 1000000"},
		{"forecasts of a fill", append(files, "--expected-start", "1"),
			"--expected-start is for --mode durations, in which asks wait until they start"},
		{"a negative number of forecasts", append(files, "--expected-start", "-1"),
			"--expected-start is -1, and cannot be below 0"},
		{"forecasts of another scheduler",
			append(files, "--expected-start", "1", "--mode", "durations", "--address", "127.0.0.1:1"),
			"--expected-start reads the scheduler of the replay, and --address names another"},
		{"forecasts and kills", append(files, "--expected-start", "1", "--mode", "durations", "--kill-core-every", "1"),
			"--expected-start is for a scheduler that is not killed"},
		{"an unknown source of priorities", append(files, "--priority-from", "user"),
			`--priority-from is none or qos, not "user"`},
		{"priorities that are not used", append(files, "--qos-priorities", "LS=1"),
			"--qos-priorities are for --priority-from qos or --order qos"},
		{"a priority that is not a number", append(files, "--qos-priorities", "LS=high"),
			`invalid argument "LS=high" for "--qos-priorities"`},
		{"a priority above 32 bits", append(files, "--order", "qos", "--qos-priorities", "LS=2147483648"),
			"--qos-priorities: LS=2147483648 is not a 32-bit integer"},
		{"a class that no task has", append(files, "--order", "qos", "--qos-priorities", "NOPE=5"),
			"--qos-priorities: " + samplePods + ": no task has QoS class NOPE"},
		{"a class twice", append(files, "--order", "qos", "--qos-priorities", "LS=5,ls=6"), `class ls is given twice`},
		{"a class in two flags", append(files, "--order", "qos", "--qos-priorities", "LS=5", "--qos-priorities", "LS=6"),
			`class LS is given twice`},
		{"a class without a number", append(files, "--order", "qos", "--qos-priorities", "LS"),
			`it is CLASS=NUMBER,..., and "LS" is not`},
		{"a class without a priority",
			[]string{"--nodes", sampleNodes, "--pods", strange, "--order", "qos", "--queue", "root.ls"},
			"task task-003 has QoS class Odd, which has no priority: --qos-priorities Odd=N sets it"},
		{"an unknown mode of preemption", append(files, "--preemption", "maybe"),
			`--preemption is on, off or compare, not "maybe"`},
		{"resubmission without preemption", append(files, "--preemption", "off", "--resubmit"),
			"with --preemption off there are none"},
		{"a queue name without root", append(files, "--queue", "shared"),
			`--queue is the path of a leaf, such as root.a, not "shared"`},
		{"an unknown queue", append(files, "--queue", "root.shared"), "there is no leaf root.shared, which --queue names"},
		{"a queue path with an empty name", append(files, "--queue", "root.", "--config", fewer),
			"there is no leaf root., which --queue names"},
		{"a negative number of answers", append(files, "--kill-core-every", "-1"),
			"--kill-core-every is -1, and cannot be below 0"},
		{"kills of another scheduler", append(files, "--kill-core-every", "1", "--address", "127.0.0.1:1"),
			"--kill-core-every kills a scheduler that the replay has started itself, and --address names another"},
		{"kills and a comparison", append(files, "--kill-core-every", "1", "--preemption", "compare"),
			"--kill-core-every is for replays without preemption, not for --preemption compare"},
		{"kills and victims", append(files, "--kill-core-every", "1", "--resubmit"),
			"--kill-core-every is for replays without preemption, and --resubmit is for preempted tasks"},
		{"kills and preemption", append(files, "--kill-core-every", "1", "--queue", "root.shared", "--config", preempting),
			preempting + ": --kill-core-every is for replays without preemption, which this configuration allows: add " +
				"--preemption off"},
		{"no server at the address", append(files, "--address", "127.0.0.1:1"),
			"connecting to 127.0.0.1:1: connection error: "},
		{"an address without a port", append(files, "--address", "localhost"),
			"address localhost: missing port in address: HOST:PORT is needed"},
		{"an invalid address", append(files, "--address", "\x00"), "\x00"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			code, out, errs := runLab(append([]string{"replay"}, x.args...)...)
			assert.Equal(t, code, 2, errs)
			assert.Equal(t, out, "")
			assert.Assert(t, strings.Contains(errs, x.want), errs)
		})
	}
}

// writeTempFile makes a file for a test.
func writeTempFile(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	assert.NilError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// A scheduler that refuses the registration makes the replay impossible, which is not its verdict.
func TestReplay_RefusedRegistrationIsUsageError(t *testing.T) {
	p := startServer(t)
	other, err := sim.Dial(t.Context(), p.GRPC, "other")
	assert.NilError(t, err)
	defer other.Close()
	assert.NilError(t, other.Register(t.Context(), ""))
	code, out, errs := replaySample("--address", p.GRPC)
	assert.Equal(t, code, cmdline.Usage, errs)
	assert.Equal(t, out, "")
	assert.Assert(t, strings.Contains(errs, "registering resource manager "), errs)
}
