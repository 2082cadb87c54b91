package sim

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Resource names of a trace, in the units of the scheduler.
const (
	GPU  = "nvidia.com/gpu-milli"
	pods = "pods"

	WholeGPU    = 1000 // of GPU
	podsPerNode = 110
)

// Task is a row of a trace of tasks. Times are in seconds since the start of the trace.
type Task struct {
	Name    string
	Amounts resources.Amounts
	QoS     string
	Created int64
	Deleted int64
	GPUSpec string // accepted models of GPU; not honoured
}

// ReadNodes reads the nodes of an openb trace: columns sn, cpu_milli, memory_mib, gpu. name is the file
// name in errors.
func ReadNodes(name string, text io.Reader) ([]Node, error) {
	t, err := openTable(name, text, "sn", "cpu_milli", "memory_mib", "gpu")
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for t.next() {
		has := t.amounts(t.number("gpu", math.MaxInt64/WholeGPU)*WholeGPU, podsPerNode)
		nodes = append(nodes, Node{ID: objects.NodeID(t.name("sn")), Capacity: has})
	}
	return nodes, t.end("node")
}

// ReadTasks reads the tasks of an openb trace.
func ReadTasks(name string, text io.Reader) ([]Task, error) {
	t, err := openTable(name, text, "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos",
		"creation_time", "deletion_time")
	if err != nil {
		return nil, err
	}
	var tasks []Task
	for t.next() {
		gpu := t.number("num_gpu", math.MaxInt64/WholeGPU) * WholeGPU
		if part := t.number("gpu_milli", WholeGPU); gpu == WholeGPU {
			gpu = part // a task may share a GPU
		}
		tasks = append(tasks, Task{
			Name: t.name("name"), Amounts: t.amounts(gpu, 1), QoS: t.filled("qos"), GPUSpec: t.text("gpu_spec"),
			Created: t.number("creation_time", maxTraceSeconds), Deleted: t.number("deletion_time", maxTraceSeconds),
		})
	}
	return tasks, t.end("task")
}

// maxTraceSeconds bounds the length of a trace, about fifteen years, so that every time of a trace is
// in the past.
const maxTraceSeconds = 500_000_000

// table reads a CSV file with a header by column, and keeps the first error.
type table struct {
	file    string
	csv     *csv.Reader
	columns map[string]int
	row     []string
	seen    map[string]int // name to line
	err     error
}

func openTable(file string, text io.Reader, wanted ...string) (*table, error) {
	t := &table{file: file, csv: csv.NewReader(text), columns: map[string]int{}, seen: map[string]int{}}
	t.csv.ReuseRecord = true
	header, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1: the file is empty", file)
	}
	if err != nil {
		return nil, t.broken(err)
	}
	for i, column := range header {
		column = strings.TrimSpace(strings.TrimPrefix(column, "\ufeff")) // some programs mark UTF-8
		if _, twice := t.columns[column]; twice {
			return nil, fmt.Errorf("%s:1: column %s is there twice", file, column)
		}
		t.columns[column] = i
	}
	for _, column := range wanted {
		if _, ok := t.columns[column]; !ok {
			return nil, fmt.Errorf("%s:1: column %s is missing", file, column)
		}
	}
	return t, nil
}

// next reads the next row; false: there is none, or there was an error.
func (t *table) next() bool {
	if t.err != nil {
		return false
	}
	row, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return false
	}
	if err != nil {
		t.err = t.broken(err)
		return false
	}
	t.row = row
	return true
}

// end returns the first error, also that of a file without rows. what names a row in errors.
func (t *table) end(what string) error {
	if t.err == nil && len(t.seen) == 0 {
		return fmt.Errorf("%s:1: there is no %s in it", t.file, what)
	}
	return t.err
}

func (t *table) text(column string) string { return strings.TrimSpace(t.row[t.columns[column]]) }

func (t *table) filled(column string) string {
	text := t.text(column)
	if text == "" {
		t.wrong(column, "is empty")
	}
	return text
}

// name reads a name and rejects one that an earlier row has.
func (t *table) name(column string) string {
	name := t.filled(column)
	line, _ := t.csv.FieldPos(t.columns[column])
	if first, twice := t.seen[name]; twice {
		t.wrong(column, fmt.Sprintf("%q is on line %d already", name, first))
	}
	t.seen[name] = line
	return name
}

// number reads an integer from 0 to limit.
func (t *table) number(column string, limit int64) int64 {
	n, err := strconv.ParseInt(t.text(column), 10, 64)
	if err != nil || n < 0 || n > limit {
		t.wrong(column, fmt.Sprintf("%q is not a whole number from 0 to %d", t.text(column), limit))
		return 0
	}
	return n
}

// amounts reads vcore and memory and adds the GPUs and pods.
func (t *table) amounts(gpu, pod int64) resources.Amounts {
	const mebibyte = 1 << 20
	return resources.FromMap(map[string]resources.Quantity{
		resources.VCore: resources.Quantity(t.number("cpu_milli", math.MaxInt64)),
		"memory":        resources.Quantity(t.number("memory_mib", math.MaxInt64/mebibyte) * mebibyte),
		GPU:             resources.Quantity(gpu),
		pods:            resources.Quantity(pod),
	})
}

func (t *table) wrong(column, problem string) {
	if t.err == nil {
		line, _ := t.csv.FieldPos(t.columns[column])
		t.err = fmt.Errorf("%s:%d: column %s: %s", t.file, line, column, problem)
	}
}

// broken returns an error of the CSV format, with the line.
func (t *table) broken(err error) error {
	parse := new(csv.ParseError)
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %w", t.file, parse.Line, parse.Err)
	}
	return fmt.Errorf("%s: %w", t.file, err)
}
