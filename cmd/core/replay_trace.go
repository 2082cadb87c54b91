package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/sim"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// trace is what a replay is made of.
type trace struct {
	nodes     []sim.Node
	tasks     []sim.Task
	config    string
	partition configs.Partition // of the configuration
}

// readTrace reads the files that the flags name.
func readTrace(f replayFlags) (*trace, error) {
	nodes, err := readFile(f.nodes, sim.ReadNodes)
	if err != nil {
		return nil, err
	}
	tasks, err := readFile(f.pods, sim.ReadTasks)
	if err != nil {
		return nil, err
	}
	if f.limit > 0 && f.limit < len(tasks) {
		tasks = tasks[:f.limit]
	}
	t := &trace{nodes: nodes, tasks: tasks, config: sim.OpenbConfig()}
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
	return t, t.configure(name, f.bounds)
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

// configure reads the configuration and checks that every task has its leaf.
func (t *trace) configure(name string, bounds configs.Options) error {
	conf, problems := configs.LoadWith([]byte(t.config), bounds)
	if conf == nil {
		lines := make([]string, len(problems))
		for i, p := range problems {
			lines[i] = p.In(name)
		}
		return fmt.Errorf("%s", strings.Join(lines, "\n"))
	}
	for _, p := range conf.Partitions {
		if p.Name == sim.Partition {
			t.partition = p
			return t.findLeaves(name)
		}
	}
	return fmt.Errorf("%s: there is no partition %s", name, sim.Partition)
}

func (t *trace) findLeaves(name string) error {
	leaves := map[string]bool{}
	for _, q := range t.partition.Root.Children {
		leaves[q.Name] = !q.Parent
	}
	for _, x := range t.tasks {
		if class := strings.ToLower(x.QoS); !leaves[class] {
			return fmt.Errorf("%s: task %s has QoS class %s, and there is no leaf root.%s", name, x.Name, x.QoS, class)
		}
	}
	return nil
}

// specs counts the tasks that want a certain model of GPU.
func (t *trace) specs() (n int) {
	for _, x := range t.tasks {
		if x.GPUSpec != "" {
			n++
		}
	}
	return n
}
