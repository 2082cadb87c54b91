package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/quota/percent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// QueueOverMax is a queue whose allocated resources exceed its new max, or a max that becomes enforced. Asks
// in the queue wait until it is below its max. Running allocations go on, unless the max is enforced.
type QueueOverMax struct {
	Partition string             `json:"partition"`
	Queue     string             `json:"queue"`
	Resource  string             `json:"resource"`
	Allocated resources.Quantity `json:"allocated"`
	Max       resources.Quantity `json:"max"`
	By        resources.Quantity `json:"by"`

	// EnforcedAfter is the time after which allocations of the queue are preempted if it is above its max until then,
	// such as 5m0s: what is left of the delay, if it is above its max already; empty: the max is not enforced.
	EnforcedAfter string `json:"enforcedAfter,omitempty"`
	// MaxUnchanged is true if the max is the same as before, and only its enforcement is new.
	MaxUnchanged bool `json:"maxUnchanged,omitempty"`
}

// String is a line of text about the exceeded max.
func (o QueueOverMax) String() string {
	text := func(n resources.Quantity) string { return resources.FormatQuantity(o.Resource, n) }
	maxText, enforcement := "new max", ""
	if o.MaxUnchanged {
		maxText = "max"
	}
	switch o.EnforcedAfter {
	case "":
	case "0s":
		enforcement = "; allocations are preempted at once"
	default:
		enforcement = fmt.Sprintf("; if it still is after %s, allocations are preempted", o.EnforcedAfter)
	}
	return fmt.Sprintf("%s is over its %s by %s: it holds %s, and may hold %s%s",
		o.Queue, maxText, resources.FormatNamedQuantity(o.Resource, o.By), text(o.Allocated), text(o.Max), enforcement)
}

// enforcement is a configuration with the queues of one of its partitions, for the enforcement of a max.
type enforcement struct {
	conf   *configs.Config
	queues queueTree
}

// delay is the time that a configured queue may be above its max before allocations are preempted
// (QUO-48); 0: the max is not enforced.
func (e enforcement) delay(partition, path string) time.Duration {
	if q := e.queues[path]; q != nil {
		for i := range e.conf.Partitions {
			if p := &e.conf.Partitions[i]; p.Name == partition && p.QuotaPreemptionEnabled {
				return q.QuotaPreemptionDelay
			}
		}
	}
	return 0
}

// listOverMax lists the queues above an own max that changes or becomes enforced. The queues below
// are not listed, because the queue with the max has at least their allocated resources. A queue
// that is removed from the configuration drains with its former max. A percent is of the nodes of now.
func (p *Plan) listOverMax(yield func(), c *diff.PartitionChange, old, new enforcement, s *Partition) {
	changed := map[string]bool{}
	for _, change := range c.Queues {
		for _, v := range change.Values {
			if name, maxChanged := strings.CutPrefix(v.Name, "max "); maxChanged {
				changed[change.Queue+" "+name] = true
			}
		}
	}
	limits := map[*configs.Queue]resources.Limit{} // in force with the nodes of now
	if root := new.queues[configs.RootQueue]; root != nil {
		all, _ := percent.OfConfiguration(root, s.Capacity)
		for i := range all {
			limits[all[i].Queue] = all[i].Max
		}
	}
	for _, path := range slices.Sorted(maps.Keys(new.queues)) {
		yield()
		delay := new.delay(c.Partition, path)
		newlyEnforced := delay > 0 && old.delay(c.Partition, path) == 0
		for name, limit := range limits[new.queues[path]].All() {
			n, maxChanged := s.Allocated[path][name], changed[path+" "+name]
			if n <= limit || !maxChanged && !newlyEnforced {
				continue
			}
			o := QueueOverMax{Partition: c.Partition, Queue: path, Resource: name, Allocated: n, Max: limit, By: n - limit,
				MaxUnchanged: !maxChanged}
			if delay > 0 {
				o.EnforcedAfter = max(0, delay-s.AboveMax[path]).String() // QUO-48
			}
			p.OverMax = append(p.OverMax, o)
		}
	}
}
