package tune

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Value is a setting of a queue before and after, as queues.yaml writes it.
type Value struct {
	Queue  string `json:"queue"`
	Name   string `json:"name"`             // priority.offset, or guaranteed and a resource
	Before string `json:"before,omitempty"` // empty: not set
	After  string `json:"after"`

	keys []string // where it is below the queue
}

// Change are the values that a trial changes; empty: none.
type Change []Value

// String names every value: "root.prod priority.offset 0 > 10, root.prod guaranteed vcore 5 > 10".
func (c Change) String() string {
	if len(c) == 0 {
		return "none"
	}
	parts := make([]string, len(c))
	for i, v := range c {
		before := v.Before
		if before == "" {
			before = "none"
		}
		parts[i] = fmt.Sprintf("%s %s %s > %s", v.Queue, v.Name, before, v.After)
	}
	return strings.Join(parts, ", ")
}

// apply returns a text with the change.
func (c Change) apply(text []byte, partition string) ([]byte, error) {
	values := make([]queuesyaml.QueueValue, len(c))
	for i, v := range c {
		values[i] = queuesyaml.QueueValue{Queue: v.Queue, Keys: v.keys, Value: v.After}
	}
	return queuesyaml.EditQueues(text, partition, values...)
}

// offsetValue raises the priority offset of a queue.
func offsetValue(path string, q *configs.Queue, by int64) Value {
	before := ""
	if q.PriorityOffset != 0 {
		before = strconv.Itoa(int(q.PriorityOffset))
	}
	return Value{
		Queue: path, Name: configs.PriorityOffsetProperty, Before: before,
		After: strconv.FormatInt(int64(q.PriorityOffset)+by, 10),
		keys:  []string{"properties", configs.PriorityOffsetProperty},
	}
}

// guaranteeValue raises what is guaranteed of a resource.
func guaranteeValue(path string, q *configs.Queue, resource string, by resources.Quantity) Value {
	was, set := q.Guaranteed.Get(resource)
	v := Value{Queue: path, Name: "guaranteed " + resource, After: resources.FormatQuantity(resource, was+by),
		keys: []string{"resources", "guaranteed", resource}}
	if set {
		v.Before = resources.FormatQuantity(resource, was)
	}
	return v
}

// queuesOf returns the configured queues of a partition by path.
func queuesOf(p *configs.Partition) map[string]*configs.Queue {
	out := map[string]*configs.Queue{}
	var add func(path string, q *configs.Queue)
	add = func(path string, q *configs.Queue) {
		out[path] = q
		for i := range q.Children {
			add(path+"."+q.Children[i].Name, &q.Children[i])
		}
	}
	add(configs.RootQueue, &p.Root)
	return out
}

// parentOf returns the path of the queue above; empty: it is root.
func parentOf(path string) string {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return ""
	}
	return path[:i]
}
