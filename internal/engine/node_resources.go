package engine

import (
	"context"
	"slices"
	"time"
)

// nodeResourcesTimeout is how long a partition may take to return its capacity. A busy partition
// is left out: the configuration is then compared with fewer resources.
const nodeResourcesTimeout = 200 * time.Millisecond

// nodeResources are the names of the resources that nodes have, by partition, without partitions
// that do not answer in time (CFG-81, NOD-38). Warnings about a configuration use them.
func (e *Engine) nodeResources() map[string][]string {
	ctx, cancel := context.WithTimeout(e.ctx, nodeResourcesTimeout)
	defer cancel()
	out := map[string][]string{}
	for _, name := range e.cluster.Partitions() {
		l, ok := e.cluster.Partition(name)
		if !ok {
			continue
		}
		s, err := l.Snapshot(ctx)
		if err != nil {
			continue
		}
		for resource, n := range s.Capacity.All() {
			if n > 0 {
				out[name] = append(out[name], resource)
			}
		}
		slices.Sort(out[name])
	}
	return out
}
