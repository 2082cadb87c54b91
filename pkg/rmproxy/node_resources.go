package rmproxy

import (
	"context"
	"slices"
	"time"
)

// nodeResourcesTimeout is how long a partition may take to say what its nodes have. A busy one is not
// waited for: a configuration is only compared with less then.
const nodeResourcesTimeout = 200 * time.Millisecond

// nodeResources are the names of the resources that the nodes of each partition have, of those
// partitions that answer at once. They are for warnings about a configuration.
func (p *Proxy) nodeResources() map[string][]string {
	ctx, cancel := context.WithTimeout(p.ctx, nodeResourcesTimeout)
	defer cancel()
	out := map[string][]string{}
	for _, name := range p.cluster.Partitions() {
		l, ok := p.cluster.Partition(name)
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
