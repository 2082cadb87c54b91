package tune

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// A family is one kind of change with larger and larger values.
type family []Change

// offsetLadder is by how much a priority offset is raised.
var offsetLadder = []int64{1, 5, 10, 50, 100, 1000}

// factor is a ratio.
type factor struct{ n, of int64 }

// guaranteeLadder lists the factors by which a guarantee is raised. Where there is none, the search also tries to
// guarantee what was used.
var guaranteeLadder = []factor{{5, 4}, {3, 2}, {2, 1}, {3, 1}, {5, 1}}

// offsetFamilies raise the offset of some queues, then of the queues above these, level by level below root.
func offsetFamilies(targets []string, queues map[string]*configs.Queue) (out []family) {
	for len(targets) > 0 {
		var f family
		for _, by := range offsetLadder {
			var c Change
			for _, path := range targets {
				c = append(c, offsetValue(path, queues[path], by))
			}
			f = append(f, c)
		}
		out = append(out, f)
		above := map[string]bool{}
		for _, path := range targets {
			if p := parentOf(path); p != "" && p != configs.RootQueue {
				above[p] = true
			}
		}
		targets = slices.Sorted(maps.Keys(above))
	}
	return out
}

// guaranteeFamily raises what is guaranteed to some queues: of the resources of their guarantee, or, without one, of
// those that they used. The guarantees above are raised by as much. nil: they have no guarantee and used nothing.
func guaranteeFamily(targets []string, queues map[string]*configs.Queue, base *whatif.Outcome) family {
	ladder := guaranteeLadder
	from, own := map[string]map[string]resources.Quantity{}, map[string]bool{}
	for _, path := range targets {
		from[path] = guaranteed(queues[path])
		own[path] = len(from[path]) > 0
		if !own[path] {
			from[path] = used(path, base)
			ladder = append([]factor{{1, 1}}, guaranteeLadder...)
		}
	}
	var out family
	for _, f := range ladder {
		raises := map[string]map[string]resources.Quantity{}
		for _, path := range targets {
			raises[path] = map[string]resources.Quantity{}
			for resource, n := range from[path] {
				if by := raise(resource, n, f, own[path]); by > 0 {
					raises[path][resource] = by
				}
			}
		}
		c := raised(raises, queues)
		if len(c) > 0 && (len(out) == 0 || c.String() != out[len(out)-1].String()) {
			out = append(out, c)
		}
	}
	return out
}

// guaranteed returns what a queue is guaranteed, without zeros.
func guaranteed(q *configs.Queue) map[string]resources.Quantity {
	out := q.Guaranteed.Map()
	maps.DeleteFunc(out, func(_ string, n resources.Quantity) bool { return n == 0 })
	return out
}

// used returns the mean of what the leaves at or below a queue had.
func used(path string, o *whatif.Outcome) map[string]resources.Quantity {
	out := map[string]resources.Quantity{}
	for _, g := range o.Queues {
		if isAtOrBelow(g.Name, path) {
			for _, u := range g.Usage {
				if u.Mean > 0 {
					out[u.Resource] += resources.Quantity(u.Mean)
				}
			}
		}
	}
	return out
}

// raise returns what must be added to a guarantee of n, or to none with a usage of n, to reach a multiple of n. The
// result is rounded up, so that the new guarantee has few digits.
func raise(resource string, n resources.Quantity, f factor, own bool) resources.Quantity {
	if n > math.MaxInt64/8 {
		return 0 // no real quantity
	}
	to := (n*resources.Quantity(f.n) + resources.Quantity(f.of) - 1) / resources.Quantity(f.of)
	for _, unit := range unitsOf(resource) {
		if to >= 10*unit {
			to = (to + unit - 1) / unit * unit
			break
		}
	}
	if own {
		return to - n
	}
	return to
}

// unitsOf returns the units that a quantity is rounded to which is at least ten times as large, the largest first.
func unitsOf(resource string) []resources.Quantity {
	switch {
	case resource == resources.VCore:
		return []resources.Quantity{1000, 100}
	case resources.IsBytes(resource):
		return []resources.Quantity{1 << 30, 1 << 20}
	}
	return nil
}

// raised returns the change that raises guarantees of queues, and by as much those of the queues above that have one of
// the resource.
func raised(raises map[string]map[string]resources.Quantity, queues map[string]*configs.Queue) (c Change) {
	need := map[string]map[string]resources.Quantity{} // of the queues above: the sum of those below
	paths := map[string]bool{}
	for path := range raises {
		for p := path; p != "" && p != configs.RootQueue; p = parentOf(p) {
			paths[p] = true
		}
	}
	deepestFirst := slices.SortedFunc(maps.Keys(paths), func(a, b string) int {
		if d := strings.Count(b, ".") - strings.Count(a, "."); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, path := range deepestFirst {
		by := need[path]
		if by == nil {
			by = map[string]resources.Quantity{}
		}
		for resource, n := range raises[path] {
			by[resource] = max(by[resource], n)
		}
		for _, resource := range slices.Sorted(maps.Keys(by)) {
			_, has := queues[path].Guaranteed.Get(resource)
			if _, asked := raises[path][resource]; asked || has {
				c = append(c, guaranteeValue(path, queues[path], resource, by[resource]))
			}
		}
		above := parentOf(path)
		if need[above] == nil {
			need[above] = map[string]resources.Quantity{}
		}
		for resource, n := range by {
			need[above][resource] += n
		}
	}
	return c
}
