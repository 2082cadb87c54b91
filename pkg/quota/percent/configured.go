package percent

import (
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// OfConfiguration returns the quotas that the queues below root would have with nodes of that capacity, by resource;
// a missing one is 0. It knows no dynamic queues.
func OfConfiguration(root *configs.Queue, capacity map[string]resources.Quantity) (all []Quotas[*configs.Queue],
	some bool) {
	t := Tree[*configs.Queue]{
		Root: root,
		Children: func(q *configs.Queue) iter.Seq[*configs.Queue] {
			return func(yield func(*configs.Queue) bool) {
				for i := range q.Children {
					if !yield(&q.Children[i]) {
						return
					}
				}
			}
		},
		Configured: func(q *configs.Queue) (resources.Limit, resources.Guarantee) { return q.Max, q.Guaranteed },
		Capacity:   func(name string) resources.Quantity { return capacity[name] },
	}
	return t.Effective()
}
