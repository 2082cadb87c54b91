package resources

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// MaxNames is how many different resource names one partition may use. Real
// clusters use a dozen; the bound keeps nonsense from outside out of every vector.
const MaxNames = 256

// MaxAskNames is how many of them may be names that only asks use. The rest is left for
// nodes and the configuration.
const MaxAskNames = 64

// Kind is the number of a resource name within one partition.
type Kind int

// Holder says what uses a name.
type Holder uint8

// The holders. A name is there as long as anything holds it.
const (
	Cluster Holder = iota // nodes, foreign allocations and the configuration
	Asks                  // asks, allocations, and quotas that came with applications
	holders
)

// Names numbers the resource names of one partition. A name has a number as long as it is
// held; a number that is free again is given to the next new name, the lowest first, so that
// the same changes give the same numbers. Not for concurrent use: it belongs to the writer
// of the partition.
type Names struct {
	names []string // by number; empty: free
	kinds map[string]Kind
	held  [][holders]int // by number: how often each holder holds it
	most  int            // how many names may be there
	loose int            // names that only asks hold
	asks  int            // how many of these may be there

	keeping int    // Keep was called so often more than Sweep
	idle    []Kind // dropped since; some may be held again
	given   uint64 // how often a new name got a number
	freed   func(k Kind)
}

// NewNames returns a Names that knows no resource, with the usual bounds.
func NewNames() *Names { return NewNamesOf(MaxNames, MaxAskNames, nil) }

// NewNamesOf is NewNames with other bounds. freed is told of each number that is not used any
// more, before another name can get it; nil: nothing is.
func NewNamesOf(most, asks int, freed func(k Kind)) *Names {
	if freed == nil {
		freed = func(Kind) {}
	}
	return &Names{kinds: map[string]Kind{}, most: most, asks: asks, freed: freed}
}

// Clone returns a Names that knows the same resources by the same numbers. Its changes are
// told to nothing.
func (n *Names) Clone() *Names {
	c := *n
	c.names, c.kinds, c.held, c.idle = slices.Clone(n.names), maps.Clone(n.kinds), slices.Clone(n.held), slices.Clone(n.idle)
	c.freed = func(Kind) {}
	return &c
}

// Len is above every number that a name has, or had. A Vector may be shorter, never longer.
func (n *Names) Len() int { return len(n.names) }

// Given is how often a new name got a number.
func (n *Names) Given() uint64 { return n.given }

// Name returns the name of k; empty: it is free.
func (n *Names) Name(k Kind) string { return n.names[k] }

// Held is how often each holder holds the name of k.
func (n *Names) Held(k Kind) (cluster, asks int) { return n.held[k][Cluster], n.held[k][Asks] }

// Loose is how many names only asks hold.
func (n *Names) Loose() int { return n.loose }

// Lookup returns the number of name, if it has one.
func (n *Names) Lookup(name string) (Kind, bool) {
	k, ok := n.kinds[name]
	return k, ok
}

// NamesError says that there is no room for one more resource name.
type NamesError string

// Error is part of error.
func (e NamesError) Error() string { return string(e) }

// Admit says why a holder may not hold all names of a; nil: it may. It changes nothing. The
// configuration, which has a bound of its own, need not ask.
func (n *Names) Admit(a Amounts, by Holder) error {
	fresh := 0
	for _, x := range a.e {
		if _, ok := n.kinds[x.name]; ok {
			continue
		}
		fresh++
		switch {
		case by == Asks && n.loose+fresh > n.asks:
			return NamesError(fmt.Sprintf("resource name %.100q: no node and no configuration knows it, and asks have %d such names, of at most %d",
				x.name, n.loose+fresh-1, n.asks))
		case len(n.kinds)+fresh > n.most:
			return NamesError(fmt.Sprintf("resource name %.100q: more than %d different resource names in one partition", x.name, n.most))
		}
	}
	return nil
}

// Hold is the dense form of a, whose names are held from now on. Requires: Admit(a), for what
// came from outside.
func (n *Names) Hold(a Amounts, by Holder) Vector {
	var v Vector
	for _, x := range a.e {
		k := n.HoldName(x.name, by)
		v.reach(k)
		v[k] = x.n
	}
	return v
}

// Release takes back a Hold. Requires: v has not changed since.
func (n *Names) Release(v Vector, by Holder) {
	for k, q := range v {
		if q != 0 {
			n.ReleaseKind(Kind(k), by)
		}
	}
}

// HoldLimit is Hold for a limit, zeroes included.
func (n *Names) HoldLimit(l Limit, by Holder) Bound {
	if len(l.e) == 0 {
		return nil
	}
	b := make(Bound, 0, len(l.e))
	for _, x := range l.e {
		b = append(b, bounded{n.HoldName(x.name, by), x.n})
	}
	return b
}

// HoldGuarantee is Hold for a guarantee, zeroes included.
func (n *Names) HoldGuarantee(g Guarantee, by Holder) Bound { return n.HoldLimit(Limit(g), by) }

// Requantify gives b the quantities of l, if they are of the same names: what is held stays so. It
// reports whether they are; else nothing has changed.
func (n *Names) Requantify(b Bound, l Limit) bool {
	if len(b) != len(l.e) {
		return false
	}
	for i := range b {
		if n.names[b[i].kind] != l.e[i].name {
			return false
		}
	}
	for i := range b {
		b[i].n = l.e[i].n
	}
	return true
}

// ReleaseBound takes back a HoldLimit or a HoldGuarantee.
func (n *Names) ReleaseBound(b Bound, by Holder) {
	for _, x := range b {
		n.ReleaseKind(x.kind, by)
	}
}

// Vector is the dense form of a, whose names are held already.
func (n *Names) Vector(a Amounts) Vector {
	var v Vector
	for _, x := range a.e {
		k := n.known(x.name)
		v.reach(k)
		v[k] = x.n
	}
	return v
}

// Bound is the dense form of l, whose names are held already.
func (n *Names) Bound(l Limit) Bound {
	b := make(Bound, 0, len(l.e))
	for _, x := range l.e {
		b = append(b, bounded{n.known(x.name), x.n})
	}
	return b
}

func (n *Names) known(name string) Kind {
	k, ok := n.kinds[name]
	if !ok {
		panic(fmt.Sprintf("resources: the name %q is held by nothing", name))
	}
	return k
}

// Amounts gives v its names back.
func (t *Names) Amounts(v Vector) Amounts {
	n := 0
	for k, q := range v {
		if q != 0 {
			if t.names[k] == "" {
				panic(fmt.Sprintf("resources: there is %d of number %d, which has no name", q, k))
			}
			n++
		}
	}
	if n == 0 {
		return Amounts{}
	}
	out := make([]entry, 0, n)
	for k, q := range v {
		if q != 0 {
			out = append(out, entry{t.names[k], q})
		}
	}
	if len(out) > 1 {
		slices.SortFunc(out, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	}
	return Amounts{out}
}

// HoldName returns the number of name, which is held from now on. Requires: as Hold.
func (n *Names) HoldName(name string, by Holder) Kind {
	k, ok := n.kinds[name]
	if !ok {
		k = n.give(name)
	}
	h := &n.held[k]
	n.loose -= n.isLoose(k)
	h[by]++
	n.loose += n.isLoose(k)
	return k
}

// give gives a new name the lowest number that is free.
func (n *Names) give(name string) Kind {
	n.given++
	k := Kind(len(n.names))
	if len(n.kinds) < len(n.names) {
		k = Kind(slices.Index(n.names, ""))
	} else {
		n.names, n.held = append(n.names, ""), append(n.held, [holders]int{})
	}
	n.names[k], n.kinds[name] = name, k
	return k
}

// ReleaseKind takes back a HoldName.
func (n *Names) ReleaseKind(k Kind, by Holder) {
	h := &n.held[k]
	if h[by] == 0 {
		panic(fmt.Sprintf("resources: the name %q is released more often than it was held", n.names[k]))
	}
	n.loose -= n.isLoose(k)
	h[by]--
	n.loose += n.isLoose(k)
	switch {
	case *h != [holders]int{}:
	case n.keeping > 0:
		n.idle = append(n.idle, k)
	default:
		n.free(k)
	}
}

func (n *Names) isLoose(k Kind) int {
	if h := &n.held[k]; h[Asks] > 0 && h[Cluster] == 0 {
		return 1
	}
	return 0
}

func (n *Names) free(k Kind) {
	n.freed(k)
	delete(n.kinds, n.names[k])
	n.names[k] = ""
}

// Keep has names keep their numbers, held or not, until Sweep: while much is released and held
// anew, no number may change what it means.
func (n *Names) Keep() { n.keeping++ }

// Sweep takes back a Keep. After the last one the names that nothing holds are gone.
func (n *Names) Sweep() {
	if n.keeping--; n.keeping > 0 {
		return
	}
	slices.Sort(n.idle)
	for _, k := range slices.Compact(n.idle) {
		if n.held[k] == [holders]int{} {
			n.free(k)
		}
	}
	n.idle = n.idle[:0]
}
