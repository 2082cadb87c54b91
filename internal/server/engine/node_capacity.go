package engine

import (
	"context"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// nodeCapacityTimeout bounds the time in which a partition returns its capacity. A busy partition
// is left out: the configuration is then compared with fewer resources.
const nodeCapacityTimeout = 200 * time.Millisecond

// nodeCapacity returns what all nodes have together, by partition and resource, without partitions
// that do not answer in time (CFG-81, NOD-38). Warnings about a configuration use it.
func (e *Engine) nodeCapacity() map[string]map[string]resources.Quantity {
	ctx, cancel := context.WithTimeout(e.ctx, nodeCapacityTimeout)
	defer cancel()
	out := map[string]map[string]resources.Quantity{}
	for _, name := range e.cluster.Partitions() {
		l, ok := e.cluster.Partition(name)
		if !ok {
			continue
		}
		s, err := l.Snapshot(ctx)
		if err != nil {
			continue
		}
		out[name] = s.Capacity.Map()
	}
	return out
}
