package quota

import (
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Projection counts asks as placed, one after the other, whatever the nodes have: it says which asks the quotas would
// allow in an unbounded cluster. It changes nothing else. The zero value counts none.
type Projection struct {
	queues   map[*Queue]*projectedUse
	accounts map[*Account]*projectedUse
	started  map[*Application]bool // has a projected ask, and a constraint on max applications
	unused   []projectedUse        // memory for entries of the maps
}

// usesAtOnce is the number of entries for which memory is allocated at once.
const usesAtOnce = 16

// projectedUse holds what counts within a max or a limit besides what is allocated and running now.
type projectedUse struct {
	added   resources.Vector
	started int
}

// Place counts n asks of a for v each as placed, or as many as are within every constraint other than the capacity of
// the cluster. If these are fewer, blocking is the constraint that the next one would exceed.
func (p *Projection) Place(a *Application, v resources.Vector, n int) (placed int, blocking Constraint) {
	return p.PlaceWithNodes(a, v, n, nil)
}

// PlaceWithNodes is Place where nodes join for requests that exceed percents: alone, what is requested together, is no
// less than v, and a max that is a percent and less than alone in a resource does not bound that (QUO-68).
func (p *Projection) PlaceWithNodes(a *Application, v resources.Vector, n int,
	alone resources.Vector) (placed int, blocking Constraint) {
	placed = n
	for c := range a.Constraints().Each {
		if c.kind == ClusterCapacity {
			break
		}
		if within := p.within(c, a, v, alone); within < placed {
			placed, blocking = within, c
		}
	}
	if placed > 0 {
		p.Add(a, v, placed)
	}
	return placed, blocking
}

// Add counts n asks of a for v each as placed, within the constraints or not.
func (p *Projection) Add(a *Application, v resources.Vector, n int) {
	starts := false
	for c := range a.Constraints().Each {
		switch {
		case c.kind == ClusterCapacity:
		case !c.kind.AboutApplications():
			p.useOf(c).added.AddTimes(v, int64(n))
		case !p.started[a]:
			p.useOf(c).started++
			starts = true
		}
	}
	if starts {
		if p.started == nil {
			p.started = map[*Application]bool{}
		}
		p.started[a] = true
	}
}

// within returns how many more asks of a for v each are within c; more than any number of asks if c does not bound
// them.
func (p *Projection) within(c Constraint, a *Application, v, alone resources.Vector) int {
	use := p.useOf(c)
	if c.kind.AboutApplications() {
		running, bound := c.Running()
		if !p.started[a] && uint64(running+use.started) >= bound {
			return 0
		}
		return unboundedAsks
	}
	least := resources.Quantity(unboundedAsks)
	for k, requested := range v {
		k := resources.Index(k)
		free, _, bounded := c.Availability(k)
		if c.kind == QueueMaxResources && c.queue.exceedsPercent(k, alone.At(k)) {
			continue
		}
		if requested > 0 && bounded {
			least = min(least, max(0, resources.SubSaturated(free, use.added.At(k)))/requested)
		}
	}
	return int(least)
}

// unboundedAsks is more than the asks of any partition.
const unboundedAsks = 1 << 40

// useOf returns what p adds within c.
func (p *Projection) useOf(c Constraint) *projectedUse {
	if p.queues == nil {
		p.queues, p.accounts = map[*Queue]*projectedUse{}, map[*Account]*projectedUse{}
	}
	if c.account != nil {
		return entryOf(p, p.accounts, c.account)
	}
	return entryOf(p, p.queues, c.queue)
}

func entryOf[K comparable](p *Projection, m map[K]*projectedUse, key K) *projectedUse {
	use := m[key]
	if use == nil {
		if len(p.unused) == 0 {
			p.unused = make([]projectedUse, usesAtOnce)
		}
		use, p.unused = &p.unused[0], p.unused[1:]
		m[key] = use
	}
	return use
}
