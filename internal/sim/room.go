package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// room is where work may go: a cluster as plain lists. It knows one question and
// answers it by trying everything.
type room struct {
	capacity resources.Amounts
	queues   map[objects.QueuePath]held
	nodes    []space // those that take work
}

type held struct {
	max       resources.Limit // root has none: the capacity of the cluster is its ceiling
	allocated resources.Amounts
	oneByOne  bool // applications start one at a time: room alone is no reason to place
}

type space struct {
	id   objects.NodeID
	left resources.Amounts
}

// wish is a pending ask.
type wish struct {
	key      objects.AllocationKey
	queue    objects.QueuePath // the leaf
	amounts  resources.Amounts
	required objects.NodeID // empty: any
}

// overlooked says which wish could be fulfilled, and where. nil: none can, as it should
// be when a scheduler has done its work. Wishes that are alike get the same answer.
func (r room) overlooked(wishes []wish) error {
	nodes, tried := map[string]*space{}, map[string]bool{}
	for _, w := range wishes {
		what := fmt.Sprintf("%s %v", w.required, w.amounts)
		where := what + " " + string(w.queue)
		if tried[where] {
			continue
		}
		tried[where] = true
		n, known := nodes[what]
		if !known {
			n = r.nodeFor(w)
			nodes[what] = n
		}
		if n != nil && r.mayHold(w, resources.Amounts{}) {
			return fmt.Errorf("ask %s of queue %s is pending, and node %s has room for it: %v of %v",
				w.key, w.queue, n.id, w.amounts, n.left)
		}
	}
	return nil
}

// nodeFor is the first node with room for a wish, nil when there is none.
func (r room) nodeFor(w wish) *space {
	for i, n := range r.nodes {
		if (w.required == "" || w.required == n.id) && n.left.Covers(w.amounts) {
			return &r.nodes[i]
		}
	}
	return nil
}

// mayHold reports whether the queues allow a wish, from the leaf up to root, when others of
// the leaf have left.
func (r room) mayHold(w wish, off resources.Amounts) bool {
	for path := w.queue; ; path = above(path) {
		q := r.queues[path]
		if q.oneByOne {
			return false
		}
		if path == objects.RootPath {
			return r.capacity.Sub(q.allocated).Add(off).Covers(w.amounts)
		}
		if !q.max.Headroom(q.allocated.Sub(off)).Allows(w.amounts) {
			return false
		}
	}
}

// overfull says which queue holds more than it may.
func (r room) overfull() error {
	for _, path := range sortedKeys(r.queues) {
		q := r.queues[path]
		switch {
		case path == objects.RootPath && !r.capacity.Covers(q.allocated):
			return fmt.Errorf("the cluster has %v, and %v is allocated", r.capacity, q.allocated)
		case path != objects.RootPath && !q.max.Allows(q.allocated):
			return fmt.Errorf("queue %s may hold %v, and %v is allocated", path, q.max, q.allocated)
		}
	}
	return nil
}

// above is the path of the queue above.
func above(path objects.QueuePath) objects.QueuePath {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' {
			return path[:i]
		}
	}
	return objects.RootPath
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
