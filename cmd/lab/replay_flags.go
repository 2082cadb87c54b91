package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// replayFlags are the flags as given.
type replayFlags struct {
	nodes, pods, config string // names of files
	mode, output        string
	limit, nodesPercent int
	seed                uint64
	address             string
	access              cmdline.ClientAccess
	decisions           string // the file to write them to; empty: none
	bounds              queuesyaml.Options

	order, priorities string       // age or qos; none or qos
	qosNumbers        classNumbers // priorities by QoS class; a missing class has the default
	queue             string       // of all tasks; empty: one for each class
	preemption        string       // on, off or compare
	resubmit          bool
	load              float64
	expectedStart     int // each so many of the asks that wait are asked about; 0: none
	killEvery         int // answers between two kills of the scheduler; 0: it is not killed
	record            string
	server            string // the program canopy, which is killed
}

func (f *replayFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.nodes, "nodes", "", "CSV `FILE` of the nodes")
	flags.StringVar(&f.pods, "pods", "", "CSV `FILE` of the tasks")
	flags.StringVar(&f.mode, "mode", "fill", "what is replayed: fill, lifetimes or durations")
	flags.StringVar(&f.config, "config", "", "queues.yaml `FILE` with a leaf for each QoS class, or the one of --queue")
	flags.IntVar(&f.limit, "limit", 0, "replay only the first `N` tasks; 0: all")
	flags.IntVar(&f.nodesPercent, "nodes-percent", 100,
		"percentage of the nodes that are used, evenly spread over the file")
	flags.Uint64Var(&f.seed, "seed", 0, "other than 0: seed to shuffle tasks that are submitted together")
	cmdline.OutputFlag(flags, &f.output)
	flags.StringVar(&f.address, "address", "", "`HOST:PORT` of a running scheduler to use; its state is replaced")
	f.access.Add(flags)
	flags.StringVar(&f.decisions, "decisions", "",
		"write a line 'task node' for each allocation, and 'task node preempted' for each victim, to `FILE`")
	flags.StringVar(&f.order, "order", "age",
		"order of the tasks in a fill: age (all at once, the oldest first) or qos (class by class, "+
			"the lowest priority first)")
	flags.StringVar(&f.priorities, "priority-from", "none", "source of the priority of a task: none (all have 0) or qos")
	flags.Var(&f.qosNumbers, "qos-priorities",
		"priorities of QoS classes, as `CLASS=N,...`; default: BE=0,Burstable=100,Guaranteed=200,LS=300")
	flags.StringVar(&f.queue, "queue", "", "`PATH` of the leaf of all tasks; default: root.<qos>")
	flags.StringVar(&f.preemption, "preemption", "on",
		"preemption where the configuration allows it: on, off, or compare (one replay without, one with)")
	flags.BoolVar(&f.resubmit, "resubmit", false, "submit a preempted task again")
	flags.Float64Var(&f.load, "load", 1, "tasks arrive so many times as fast, and run as long as before")
	flags.IntVar(&f.expectedStart, "expected-start", 0,
		"ask for the expected start of every `N`th ask that waits, and report how right it was; 0: of none")
	flags.IntVar(&f.killEvery, "kill-core-every", 0,
		"replay with a scheduler in a process of its own, and kill it (SIGKILL) after every `N` answers; 0: never")
	flags.StringVar(&f.record, "record", "",
		"record the scheduler of the replay, with its virtual time, in `DIRECTORY`, for 'canopy-lab recording' and "+
			"'canopy-lab what-if'")
	addServerProgram(flags, &f.server)
	cmdline.AddBounds(flags, &f.bounds)
}

func (f *replayFlags) check() error {
	var wrong []error
	note := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	note(f.nodes == "", "--nodes names no file")
	note(f.pods == "", "--pods names no file")
	note(f.mode != "fill" && f.mode != "lifetimes" && f.mode != "durations",
		"--mode is fill, lifetimes or durations, not %q", f.mode)
	note(f.limit < 0, "--limit is %d, and cannot be below 0", f.limit)
	note(f.nodesPercent < 1 || f.nodesPercent > 100, "--nodes-percent is %d, and must be from 1 to 100", f.nodesPercent)
	note(f.order != "age" && f.order != "qos", "--order is age or qos, not %q", f.order)
	note(f.order == "qos" && (f.mode == "lifetimes" || f.mode == "durations"),
		"--order qos is for --mode fill: in the other modes tasks come in the order of the trace")
	note(!(f.load > 0 && f.load <= 1e6), "--load is %v, and must be above 0 and at most 1000000", f.load)
	note(f.load != 1 && f.mode != "durations",
		"--load is for --mode durations: in the other modes tasks end at the times of the trace")
	note(f.expectedStart < 0, "--expected-start is %d, and cannot be below 0", f.expectedStart)
	note(f.expectedStart > 0 && f.mode != "durations",
		"--expected-start is for --mode durations, in which asks wait until they start")
	note(f.expectedStart > 0 && f.address != "",
		"--expected-start reads the scheduler of the replay, and --address names another")
	note(f.expectedStart > 0 && f.killEvery > 0, "--expected-start is for a scheduler that is not killed")
	note(f.priorities != "none" && f.priorities != "qos", "--priority-from is none or qos, not %q", f.priorities)
	note(len(f.qosNumbers) > 0 && f.priorities != "qos" && f.order != "qos",
		"--qos-priorities are for --priority-from qos or --order qos")
	note(f.preemption != "on" && f.preemption != "off" && f.preemption != "compare",
		"--preemption is on, off or compare, not %q", f.preemption)
	note(f.resubmit && f.preemption == "off",
		"--resubmit is for preempted tasks, and with --preemption off there are none")
	note(f.record != "" && (f.address != "" || f.killEvery > 0 || f.preemption == "compare"),
		"--record is for one scheduler in the process of the replay: not with --address, --kill-core-every or --preemption "+
			"compare")
	note(f.killEvery < 0, "--kill-core-every is %d, and cannot be below 0", f.killEvery)
	note(f.killEvery > 0 && f.address != "",
		"--kill-core-every kills a scheduler that the replay has started itself, and --address names another")
	note(f.killEvery > 0 && f.preemption == "compare",
		"--kill-core-every is for replays without preemption, not for --preemption compare")
	note(f.killEvery > 0 && f.resubmit,
		"--kill-core-every is for replays without preemption, and --resubmit is for preempted tasks")
	note(f.queue != "" && !strings.HasPrefix(strings.ToLower(f.queue), "root."),
		"--queue is the path of a leaf, such as root.a, not %q", f.queue)
	for _, class := range slices.Sorted(maps.Keys(f.qosNumbers)) {
		n := f.qosNumbers[class]
		note(n < math.MinInt32 || n > math.MaxInt32, "--qos-priorities: %s=%d is not a 32-bit integer", class, n)
	}
	return errors.Join(append(wrong, cmdline.CheckBounds(f.bounds))...)
}

// checkClasses rejects a class of --qos-priorities that is neither a usual one nor that of a task, which is
// a misspelling. A usual one may be given for every trace.
func (f *replayFlags) checkClasses(tasks []sim.Task) error {
	known := sim.QoSPriorities()
	for _, t := range tasks {
		known[t.QoSClass()] = 0
	}
	for _, class := range slices.Sorted(maps.Keys(f.qosNumbers)) {
		if _, ok := known[strings.ToLower(class)]; !ok {
			return fmt.Errorf("--qos-priorities: %s: no task has QoS class %s", f.pods, class)
		}
	}
	return nil
}

// qosPriorities are the priorities of the QoS classes, by name in lower case. The caller must have
// checked the flags.
func (f *replayFlags) qosPriorities() map[string]int32 {
	out := sim.QoSPriorities()
	for class, n := range f.qosNumbers {
		out[strings.ToLower(class)] = int32(n)
	}
	return out
}

// leafOf is the queue of a task.
func (f *replayFlags) leafOf(t sim.Task) objects.QueuePath {
	if f.queue != "" {
		return objects.QueuePath(strings.ToLower(f.queue))
	}
	return objects.RootPath.Child(t.QoSClass())
}
