package scheduler

import (
	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// constraintCache parses the constraints of asks, and remembers the results: thousands of asks have the same. The zero
// value is empty.
type constraintCache struct {
	nodes    constraints.Cache
	affinity affinity.Cache
	shared   map[objects.AskConstraints]*objects.AskConstraints
}

// maxSharedConstraints bounds the results that are remembered. When there would be more, all are forgotten.
const maxSharedConstraints = 1024

// parse reads the constraints of an ask from its tags; nil: there are none. An error names the tag.
func (c *constraintCache) parse(tags map[string]string) (*objects.AskConstraints, error) {
	nodes, err := c.nodes.Parse(tags)
	if err != nil {
		return nil, err
	}
	around, err := c.affinity.Parse(tags, nodes)
	if err != nil {
		return nil, err
	}
	parsed := objects.AskConstraints{Nodes: nodes, Affinity: around}
	if parsed == (objects.AskConstraints{}) {
		return nil, nil
	}
	if known := c.shared[parsed]; known != nil {
		return known, nil
	}
	if c.shared == nil || len(c.shared) >= maxSharedConstraints {
		c.shared = map[objects.AskConstraints]*objects.AskConstraints{}
	}
	shared := &objects.AskConstraints{Nodes: nodes, Affinity: around} // parsed itself would be allocated for each ask
	c.shared[parsed] = shared
	return shared, nil
}
