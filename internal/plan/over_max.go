package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// NoQueueHeadroom is a queue that holds more than its new max, or than a max that is enforced from now
// on. Nothing starts until the queue is below. What runs goes on, unless the max is enforced.
type OverMax struct {
	Partition string             `json:"partition"`
	Queue     string             `json:"queue"`
	Resource  string             `json:"resource"`
	Allocated resources.Quantity `json:"allocated"`
	Max       resources.Quantity `json:"max"`
	By        resources.Quantity `json:"by"`

	// EnforcedAfter is how long after the queue came to be above its max work is told to leave,
	// such as 5m0s; empty: it is not.
	EnforcedAfter string `json:"enforcedAfter,omitempty"`
	// MaxUnchanged says that the max is as before, and that it is enforced is what is new.
	MaxUnchanged bool `json:"maxUnchanged,omitempty"`
}

// String is the excess in words.
func (o OverMax) String() string {
	text := func(n resources.Quantity) string { return resources.FormatQuantity(o.Resource, n) }
	maxText, enforcement := "new max", ""
	if o.MaxUnchanged {
		maxText = "max"
	}
	if o.EnforcedAfter != "" {
		enforcement = fmt.Sprintf("; if it still is after %s, allocations are preempted", o.EnforcedAfter)
	}
	return fmt.Sprintf("%s is over its %s by %s: it holds %s, and may hold %s%s",
		o.Queue, maxText, resources.FormatNamedQuantity(o.Resource, o.By), text(o.Allocated), text(o.Max), enforcement)
}

// enforcement is a configuration, and the queues of one partition of it.
type enforcement struct {
	conf   *configs.Config
	queues queueTree
}

// delay is how long a configured queue may be above its max (behaviour.md 6.4); 0: for ever.
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

// listOverMax lists the queues that hold more than a max of their own that changes, or is
// enforced and was not. The queues below are not listed: whoever has the max holds at least
// as much as they do. A queue that is left out drains with the max that it has.
func (p *Plan) listOverMax(c *configs.PartitionChange, old, new enforcement, s *Partition) {
	changed := map[string]bool{}
	for _, change := range c.Queues {
		for _, v := range change.Values {
			if name, maxChanged := strings.CutPrefix(v.Name, "max "); maxChanged {
				changed[change.Queue+" "+name] = true
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(new.queues)) {
		delay := new.delay(c.Partition, path)
		newlyEnforced := delay > 0 && old.delay(c.Partition, path) == 0
		for name, limit := range new.queues[path].Max.All() {
			n, maxChanged := s.Allocated[path][name], changed[path+" "+name]
			if n <= limit || !maxChanged && !newlyEnforced {
				continue
			}
			o := OverMax{Partition: c.Partition, Queue: path, Resource: name, Allocated: n, Max: limit, By: n - limit, MaxUnchanged: !maxChanged}
			if delay > 0 {
				o.EnforcedAfter = delay.String()
			}
			p.OverMax = append(p.OverMax, o)
		}
	}
}
