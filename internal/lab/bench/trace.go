package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Trace names the files of an openb trace. The zero value is none.
type Trace struct {
	Nodes string `json:"nodes"`
	Pods  string `json:"pods"`
}

// ParseTrace reads NODES.csv,PODS.csv.
func ParseTrace(text string) (Trace, error) {
	nodes, pods, both := strings.Cut(text, ",")
	if !both || nodes == "" || pods == "" || strings.Contains(pods, ",") {
		return Trace{}, fmt.Errorf("--trace names two files, NODES.csv,PODS.csv, not %q", text)
	}
	return Trace{nodes, pods}, nil
}

// PlaysTrace reports whether the suite of this name plays the files of a Trace, and needs them.
func PlaysTrace(suite string) bool { return suite == "trace" || suite == "backfill-openb" }

func (t Trace) given() bool { return t != Trace{} }

// Read reads the files, to check them and to know their sizes.
func (t Trace) Read() (nodes, tasks int, err error) {
	n, p, err := t.read()
	return len(n), len(p), err
}

func (t Trace) read() ([]sim.Node, []sim.Task, error) {
	nodes, err := readCSV(t.Nodes, sim.ReadNodes)
	if err != nil {
		return nil, nil, err
	}
	tasks, err := readCSV(t.Pods, sim.ReadTasks)
	return nodes, tasks, err
}

func readCSV[T any](name string, read func(name string, in io.Reader) (T, error)) (out T, err error) {
	file, err := os.Open(name)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return read(name, file)
}

// stream returns the trace as `canopy-lab replay --mode fill` replays it: every task is an application of one
// ask in the queue of its class. spec has the interface and the sizes.
func (t Trace) stream(spec workload.Spec) (*stream, error) {
	nodes, tasks, err := t.read()
	if err != nil {
		return nil, err
	}
	s := &stream{spec: spec, config: sim.OpenbConfig(), nodes: nodes}
	shapes := map[string]uint32{}
	for i := range nodes {
		nodes[i].Draining = true
	}
	for _, x := range tasks {
		qos := strings.ToLower(x.QoS)
		s.apps = append(s.apps, sim.Application{
			ID: objects.AppID(x.Name), Queue: objects.RootPath.Child(qos), User: qos,
		})
		text := x.Amounts.String()
		at, ok := shapes[text]
		if !ok {
			at = uint32(len(s.shapes))
			shapes[text] = at
			s.shapes = append(s.shapes, x.Amounts)
		}
		s.draws = append(s.draws, draw{shape: at})
	}
	s.spec.Asks, s.spec.Nodes, s.spec.Shapes = len(tasks), len(nodes), len(s.shapes)
	return s, s.finish()
}
