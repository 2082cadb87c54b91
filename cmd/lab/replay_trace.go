package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// trace is the input of a replay.
type trace struct {
	nodes             []sim.Node
	tasks             []sim.Task
	qosNumbers        map[string]int32 // priorities by QoS class in lower case
	config            string
	partition         configs.Partition // of the configuration
	preemptionTimeout time.Duration     // how long the client waits for preemptions; 0: no ask may preempt
}

// readTrace reads the files that the flags name.
func readTrace(f *replayFlags) (*trace, error) {
	nodes, err := readFile(f.nodes, sim.ReadNodes)
	if err != nil {
		return nil, err
	}
	tasks, err := readFile(f.pods, sim.ReadTasks)
	if err != nil {
		return nil, err
	}
	if err := f.checkClasses(tasks); err != nil {
		return nil, err
	}
	if f.limit > 0 && f.limit < len(tasks) {
		tasks = tasks[:f.limit]
	}
	if f.load != 1 {
		tasks = arriveFaster(tasks, f.load)
	}
	nodes = selectNodes(nodes, f.nodesPercent)
	if len(nodes) == 0 {
		return nil, fmt.Errorf("--nodes-percent %d leaves no node", f.nodesPercent)
	}
	t := &trace{nodes: nodes, tasks: tasks, qosNumbers: f.qosPriorities(), config: sim.OpenbConfig()}
	name := "the built-in configuration"
	if f.config != "" {
		text, err := readFile(f.config, func(_ string, in io.Reader) ([]byte, error) {
			return io.ReadAll(io.LimitReader(in, int64(f.bounds.MaxBytes)+1))
		})
		if err != nil {
			return nil, err
		}
		t.config, name = string(text), f.config
	}
	return t, t.configure(name, f)
}

// selectNodes returns a percentage of the nodes, evenly spread.
func selectNodes(nodes []sim.Node, percent int) []sim.Node {
	var out []sim.Node
	for i, n := range nodes {
		if (i+1)*percent/100 > i*percent/100 {
			out = append(out, n)
		}
	}
	return out
}

// arriveFaster are tasks that arrive so many times as fast and have the same durations.
func arriveFaster(tasks []sim.Task, load float64) []sim.Task {
	out := slices.Clone(tasks)
	for i := range out {
		t := &out[i]
		arrives := int64(float64(t.Created) / load)
		t.Created, t.Deleted = arrives, arrives+max(0, t.Deleted-t.Created)
	}
	return out
}

func readFile[T any](name string, read func(name string, in io.Reader) (T, error)) (T, error) {
	file, err := os.Open(name)
	if err != nil {
		var none T
		return none, err
	}
	defer file.Close()
	return read(name, file)
}

// configure parses the configuration and checks that every task has a leaf and, where it is needed, a
// priority. name is the name of the configuration in errors.
func (t *trace) configure(name string, f *replayFlags) error {
	conf, problems := queuesyaml.LoadWith([]byte(t.config), f.bounds)
	if conf == nil {
		lines := make([]string, len(problems))
		for i, p := range problems {
			lines[i] = p.WithFile(name)
		}
		return fmt.Errorf("%s", strings.Join(lines, "\n"))
	}
	for _, p := range conf.Partitions {
		if p.Name == sim.Partition {
			t.partition, t.preemptionTimeout = p, sim.VictimWait(p)
			if f.killEvery > 0 && f.preemption == "on" && t.preemptionTimeout > 0 {
				return fmt.Errorf("%s: --kill-core-every is for replays without preemption, which this configuration allows: add "+
					"--preemption off", name)
			}
			return t.findLeaves(name, f)
		}
	}
	return fmt.Errorf("%s: there is no partition %s", name, sim.Partition)
}

func (t *trace) findLeaves(name string, f *replayFlags) error {
	leaves := map[objects.QueuePath]bool{}
	var find func(q *configs.Queue, path objects.QueuePath)
	find = func(q *configs.Queue, path objects.QueuePath) {
		leaves[path] = !q.Parent
		for i := range q.Children {
			find(&q.Children[i], path.Child(q.Children[i].Name))
		}
	}
	find(&t.partition.Root, objects.RootPath)
	for _, x := range t.tasks {
		leaf := f.leafOf(x)
		switch _, known := t.qosNumbers[x.QoSClass()]; {
		case f.queue != "" && !leaves[leaf]:
			return fmt.Errorf("%s: there is no leaf %s, which --queue names", name, leaf)
		case !leaves[leaf]:
			return fmt.Errorf("%s: task %s has QoS class %s, and there is no leaf %s", name, x.Name, x.QoS, leaf)
		case !known && (f.order == "qos" || f.priorities == "qos"):
			return fmt.Errorf("%s: task %s has QoS class %s, which has no priority: --qos-priorities %s=N sets it",
				f.pods, x.Name, x.QoS, x.QoS)
		}
	}
	return nil
}

// countGPUSpecs counts the tasks that name models of GPU.
func (t *trace) countGPUSpecs() (n int) {
	for _, x := range t.tasks {
		if x.GPUSpec != "" {
			n++
		}
	}
	return n
}
