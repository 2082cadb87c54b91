package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
)

const traceSynthHelp = `Make a trace of nodes and tasks for canopy-lab replay, in the format of the openb traces.

The same flags make the same bytes, on every machine. Nodes are of six kinds, from 32 cores
without a GPU to 96 cores with eight. Tasks request 0.5 to 64 cores and 0 to 8 GPUs or a part of
one; more are submitted by day than by night; those of class LS last for hours, most of BE for
minutes. The length of the trace depends on --load: the sum over all tasks of the requested
resources times the duration, divided by the capacity of the nodes times the time in which tasks are
submitted, for the scarcest resource.

Both files are CSV with a header line and without quotes.

  nodes   sn             name, unique
          cpu_milli      millicores
          memory_mib     MiB
          gpu            number of GPUs
          model          of the GPUs; empty without
  tasks   name           unique
          cpu_milli      millicores
          memory_mib     MiB
          num_gpu        number of GPUs
          gpu_milli      thousandths of each GPU: 1000 unless num_gpu is 1
          gpu_spec       accepted models, with | between them; empty: any
          qos            LS (latency sensitive), Guaranteed, Burstable or BE (best effort)
          pod_phase      Succeeded; not read
          creation_time  seconds since the trace began
          deletion_time  the same; the task lasts from one to the other
          scheduled_time empty, as these tasks were never scheduled; not read

--output json prints one object: nodes, tasks, gpus, gpuTasks, lastArrivalSeconds, endSeconds
and tasksByQoS. Existing files are replaced.

The exit code is 0 when both files were written, 1 when one was not, and 2 when the arguments
are invalid.`

const traceSynthExamples = `  canopy-lab trace-synth --out-nodes nodes.csv --out-pods pods.csv
  canopy-lab trace-synth --nodes 1000 --tasks 100000 --seed 7 --load 0.9 --out-nodes nodes.csv --out-pods pods.csv
  canopy-lab trace-synth --gpu-share 0 --qos BE=1 --out-nodes nodes.csv --out-pods pods.csv`

type synthFlags struct {
	sim.Synth
	qos         classNumbers
	nodes, pods string // files
	output      string
}

// traceSynthCommand makes a trace.
func traceSynthCommand() *cobra.Command {
	f := synthFlags{Synth: sim.DefaultSynth()}
	cmd := &cobra.Command{
		Use:     "trace-synth --out-nodes FILE --out-pods FILE",
		Short:   "Make a trace for canopy-lab replay",
		Long:    traceSynthHelp,
		Example: traceSynthExamples,
		Args:    cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(f.qos) > 0 {
				f.QoS = map[string]int{}
				for class, n := range f.qos {
					f.QoS[class] = int(n)
				}
			}
			if err := f.check(); err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			return f.make(cmd.OutOrStdout())
		},
	}
	f.define(cmd.Flags())
	return cmd
}

func (f *synthFlags) define(flags *pflag.FlagSet) {
	flags.IntVar(&f.Nodes, "nodes", f.Nodes, "number of nodes")
	flags.IntVar(&f.Tasks, "tasks", f.Tasks, "number of tasks")
	flags.Uint64Var(&f.Seed, "seed", f.Seed, "seed of the random numbers")
	flags.Float64Var(&f.Load, "load", f.Load,
		"load of the tasks, as a multiple of the capacity of the nodes while tasks are submitted")
	flags.Float64Var(&f.GPU, "gpu-share", f.GPU, "share of the tasks that request GPUs, from 0 to 1")
	flags.Float64Var(&f.SharedGPU, "shared-gpu-share", f.SharedGPU,
		"share of the tasks with one GPU that request a part of it, from 0 to 1")
	flags.Float64Var(&f.GPUSpec, "gpu-spec-share", f.GPUSpec,
		"share of the tasks with GPUs that name their models, from 0 to 1")
	flags.Var(&f.qos, "qos", "proportion of the tasks of each QoS class, as `CLASS=WEIGHT,...`; default: "+weights(f.QoS))
	flags.StringVar(&f.nodes, "out-nodes", "", "CSV `FILE` to write the nodes to")
	flags.StringVar(&f.pods, "out-pods", "", "CSV `FILE` to write the tasks to")
	cmdline.OutputFlag(flags, &f.output)
}

func weights(qos map[string]int) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(qos)) {
		parts = append(parts, fmt.Sprintf("%s=%d", class, qos[class]))
	}
	return strings.Join(parts, ",")
}

// Bounds of a trace. maxWeight prevents an overflow of the sum of weights, maxLoad a trace of one second.
const (
	maxTraceNodes = 20_000
	maxTraceTasks = 1_000_000
	maxWeight     = 1_000_000
	maxLoad       = 1_000
)

func (f *synthFlags) check() error {
	var wrong []error
	note := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	note(f.Nodes < 1 || f.Nodes > maxTraceNodes, "--nodes is %d, and must be from 1 to %d", f.Nodes, maxTraceNodes)
	note(f.Tasks < 1 || f.Tasks > maxTraceTasks, "--tasks is %d, and must be from 1 to %d", f.Tasks, maxTraceTasks)
	note(!(f.Load > 0 && f.Load <= maxLoad), "--load is %v, and must be above 0 and at most %d", f.Load, maxLoad)
	for _, x := range []struct {
		flag string
		n    float64
	}{{"gpu-share", f.GPU}, {"shared-gpu-share", f.SharedGPU}, {"gpu-spec-share", f.GPUSpec}} {
		note(math.IsNaN(x.n) || x.n < 0 || x.n > 1, "--%s is %v, and must be from 0 to 1", x.flag, x.n)
	}
	usual, sum := sim.DefaultSynth().QoS, 0
	for _, class := range slices.Sorted(maps.Keys(f.QoS)) {
		n := f.QoS[class]
		_, known := usual[class]
		note(!known, "--qos: there is no class %q, only %s", class, strings.Join(slices.Sorted(maps.Keys(usual)), ", "))
		note(n < 0 || n > maxWeight, "--qos: the weight of %s is %d, and must be from 0 to %d", class, n, maxWeight)
		sum += n
	}
	note(sum == 0, "--qos gives every class the weight 0")
	note(f.nodes == "", "--out-nodes names no file")
	note(f.pods == "", "--out-pods names no file")
	note(f.nodes == "-", "--out-nodes -: a trace is two files, so it cannot be written to standard output")
	note(f.pods == "-", "--out-pods -: a trace is two files, so it cannot be written to standard output")
	wrong = append(wrong, refuseSameFile(namedFile{"out-nodes", f.nodes}, namedFile{"out-pods", f.pods}))
	return errors.Join(wrong...)
}

// synthSummary has the figures of a trace. Its JSON form is stable: other programs read it.
type synthSummary struct {
	Nodes       int            `json:"nodes"`
	Tasks       int            `json:"tasks"`
	GPUs        int64          `json:"gpus"`     // of all nodes
	GPUTasks    int            `json:"gpuTasks"` // tasks with GPUs
	LastArrival int64          `json:"lastArrivalSeconds"`
	End         int64          `json:"endSeconds"` // when the last task ends
	ByQoS       map[string]int `json:"tasksByQoS"`
}

// make makes the trace and writes it.
func (f *synthFlags) make(out io.Writer) error {
	nodes, tasks, err := f.Make()
	if err != nil {
		return cmdline.Exit(cmdline.Usage, err)
	}
	err = errors.Join(
		replaceFile(f.nodes, func(out io.Writer) error { return sim.WriteNodes(out, nodes) }),
		replaceFile(f.pods, func(out io.Writer) error { return sim.WriteTasks(out, tasks) }),
	)
	if err != nil {
		return cmdline.Exit(cmdline.Refused, err)
	}
	s := synthSummary{Nodes: len(nodes), Tasks: len(tasks), LastArrival: tasks[len(tasks)-1].Created,
		ByQoS: map[string]int{}}
	for _, n := range nodes {
		s.GPUs += int64(n.Capacity.Get(sim.GPU)) / 1000
	}
	for _, t := range tasks {
		s.End = max(s.End, t.Deleted)
		s.ByQoS[t.QoS]++
		if t.GPUs > 0 {
			s.GPUTasks++
		}
	}
	if f.output == "json" {
		return cmdline.PrintJSON(out, s)
	}
	_, err = fmt.Fprintf(out, "%s with %s: %s\n%s, %s of them with GPUs, submitted within %s h: %s\n",
		cmdline.Counted(cmdline.WithThousands(s.Nodes), "nodes"), cmdline.Counted(cmdline.WithThousands(int(s.GPUs)), "GPUs"),
		f.nodes, cmdline.Counted(cmdline.WithThousands(s.Tasks), "tasks"), cmdline.WithThousands(s.GPUTasks),
		cmdline.OneDecimal(float64(s.LastArrival)/3600), f.pods)
	return err
}

// replaceFile replaces the file of that name.
func replaceFile(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return os.WriteFile(name, text.Bytes(), 0o644)
}
