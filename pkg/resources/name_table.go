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

// Index is the number of a resource name within one partition.
type Index int

// Holder says what uses a name.
type Holder uint8

// The holders. A name is there as long as anything holds it.
const (
	Cluster Holder = iota // nodes, foreign allocations and the configuration
	Asks                  // asks, allocations, and quotas that came with applications
	holders
)

// NameTable numbers the resource names of one partition. A name has a number as long as it is
// held; a number that is free again is given to the next new name, the lowest first, so that
// the same changes give the same numbers. Not for concurrent use: it belongs to the writer
// of the partition.
type NameTable struct {
	names        []string // by number; empty: free
	indexes      map[string]Index
	held         [][holders]int // by number: how often each holder holds it
	maxNames     int            // how many names may be there
	askOnlyCount int            // names that only asks hold
	maxAskNames  int            // how many of these may be there

	pins        int     // Keep was called so often more than Sweep
	unheld      []Index // dropped since; some may be held again
	assignCount uint64  // how often a new name got a number
	freed       func(k Index)
}

// NewNameTable returns a Names that knows no resource, with the usual bounds.
func NewNameTable() *NameTable { return NewNameTableWithBounds(MaxNames, MaxAskNames, nil) }

// NewNameTableWithBounds is NewNameTable with other bounds. freed is told of each number that is not used any
// more, before another name can get it; nil: nothing is.
func NewNameTableWithBounds(most, asks int, freed func(k Index)) *NameTable {
	if freed == nil {
		freed = func(Index) {}
	}
	return &NameTable{indexes: map[string]Index{}, maxNames: most, maxAskNames: asks, freed: freed}
}

// Clone returns a Names that knows the same resources by the same numbers. Its changes are
// told to nothing.
func (n *NameTable) Clone() *NameTable {
	c := *n
	c.names, c.indexes, c.held, c.unheld = slices.Clone(n.names), maps.Clone(n.indexes), slices.Clone(n.held), slices.Clone(n.unheld)
	c.freed = func(Index) {}
	return &c
}

// Len is above every number that a name has, or had. A Vector may be shorter, never longer.
func (n *NameTable) Len() int { return len(n.names) }

// Assigned is how often a new name got a number.
func (n *NameTable) Assigned() uint64 { return n.assignCount }

// Name returns the name of k; empty: it is free.
func (n *NameTable) Name(k Index) string { return n.names[k] }

// HoldCounts is how often each holder holds the name of k.
func (n *NameTable) HoldCounts(k Index) (cluster, asks int) {
	return n.held[k][Cluster], n.held[k][Asks]
}

// AskOnly is how many names only asks hold.
func (n *NameTable) AskOnly() int { return n.askOnlyCount }

// Lookup returns the number of name, if it has one.
func (n *NameTable) Lookup(name string) (Index, bool) {
	k, ok := n.indexes[name]
	return k, ok
}

// NameBoundError says that there is no room for one more resource name.
type NameBoundError string

// Error is part of error.
func (e NameBoundError) Error() string { return string(e) }

// Admit says why a holder may not hold all names of a; nil: it may. It changes nothing. The
// configuration, which has a bound of its own, need not ask.
func (n *NameTable) Admit(a Amounts, by Holder) error {
	fresh := 0
	for _, x := range a.e {
		if _, ok := n.indexes[x.name]; ok {
			continue
		}
		fresh++
		switch {
		case by == Asks && n.askOnlyCount+fresh > n.maxAskNames:
			return NameBoundError(fmt.Sprintf("resource name %.100q: no node and no configuration knows it, and asks have %d such names, of at most %d",
				x.name, n.askOnlyCount+fresh-1, n.maxAskNames))
		case len(n.indexes)+fresh > n.maxNames:
			return NameBoundError(fmt.Sprintf("resource name %.100q: more than %d different resource names in one partition", x.name, n.maxNames))
		}
	}
	return nil
}

// Hold is the dense form of a, whose names are held from now on. Requires: Admit(a), for what
// came from outside.
func (n *NameTable) Hold(a Amounts, by Holder) Vector {
	var v Vector
	for _, x := range a.e {
		k := n.HoldName(x.name, by)
		v.grow(k)
		v[k] = x.n
	}
	return v
}

// Release takes back a Hold. Requires: v has not changed since.
func (n *NameTable) Release(v Vector, by Holder) {
	for k, q := range v {
		if q != 0 {
			n.ReleaseIndex(Index(k), by)
		}
	}
}

// HoldLimit is Hold for a limit, zeroes included.
func (n *NameTable) HoldLimit(l Limit, by Holder) LimitVector {
	if len(l.e) == 0 {
		return nil
	}
	b := make(LimitVector, 0, len(l.e))
	for _, x := range l.e {
		b = append(b, limitEntry{n.HoldName(x.name, by), x.n})
	}
	return b
}

// HoldGuarantee is Hold for a guarantee, zeroes included.
func (n *NameTable) HoldGuarantee(g Guarantee, by Holder) LimitVector {
	return n.HoldLimit(Limit(g), by)
}

// UpdateQuantities gives b the quantities of l, if they are of the same names: what is held stays so. It
// reports whether they are; else nothing has changed.
func (n *NameTable) UpdateQuantities(b LimitVector, l Limit) bool {
	if len(b) != len(l.e) {
		return false
	}
	for i := range b {
		if n.names[b[i].index] != l.e[i].name {
			return false
		}
	}
	for i := range b {
		b[i].n = l.e[i].n
	}
	return true
}

// ReleaseBound takes back a HoldLimit or a HoldGuarantee.
func (n *NameTable) ReleaseBound(b LimitVector, by Holder) {
	for _, x := range b {
		n.ReleaseIndex(x.index, by)
	}
}

// Vector is the dense form of a, whose names are held already.
func (n *NameTable) Vector(a Amounts) Vector {
	var v Vector
	for _, x := range a.e {
		k := n.mustLookup(x.name)
		v.grow(k)
		v[k] = x.n
	}
	return v
}

// LimitVector is the dense form of l, whose names are held already.
func (n *NameTable) LimitVector(l Limit) LimitVector {
	b := make(LimitVector, 0, len(l.e))
	for _, x := range l.e {
		b = append(b, limitEntry{n.mustLookup(x.name), x.n})
	}
	return b
}

func (n *NameTable) mustLookup(name string) Index {
	k, ok := n.indexes[name]
	if !ok {
		panic(fmt.Sprintf("resources: the name %q is held by nothing", name))
	}
	return k
}

// Amounts gives v its names back.
func (t *NameTable) Amounts(v Vector) Amounts {
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
func (n *NameTable) HoldName(name string, by Holder) Index {
	k, ok := n.indexes[name]
	if !ok {
		k = n.assign(name)
	}
	h := &n.held[k]
	n.askOnlyCount -= n.countAskOnly(k)
	h[by]++
	n.askOnlyCount += n.countAskOnly(k)
	return k
}

// assign gives a new name the lowest number that is free.
func (n *NameTable) assign(name string) Index {
	n.assignCount++
	k := Index(len(n.names))
	if len(n.indexes) < len(n.names) {
		k = Index(slices.Index(n.names, ""))
	} else {
		n.names, n.held = append(n.names, ""), append(n.held, [holders]int{})
	}
	n.names[k], n.indexes[name] = name, k
	return k
}

// ReleaseIndex takes back a HoldName.
func (n *NameTable) ReleaseIndex(k Index, by Holder) {
	h := &n.held[k]
	if h[by] == 0 {
		panic(fmt.Sprintf("resources: the name %q is released more often than it was held", n.names[k]))
	}
	n.askOnlyCount -= n.countAskOnly(k)
	h[by]--
	n.askOnlyCount += n.countAskOnly(k)
	switch {
	case *h != [holders]int{}:
	case n.pins > 0:
		n.unheld = append(n.unheld, k)
	default:
		n.freeIndex(k)
	}
}

func (n *NameTable) countAskOnly(k Index) int {
	if h := &n.held[k]; h[Asks] > 0 && h[Cluster] == 0 {
		return 1
	}
	return 0
}

func (n *NameTable) freeIndex(k Index) {
	n.freed(k)
	delete(n.indexes, n.names[k])
	n.names[k] = ""
}

// PinNumbers has names keep their numbers, held or not, until Sweep: while much is released and held
// anew, no number may change what it means.
func (n *NameTable) PinNumbers() { n.pins++ }

// UnpinNumbers takes back a Keep. After the last one the names that nothing holds are gone.
func (n *NameTable) UnpinNumbers() {
	if n.pins--; n.pins > 0 {
		return
	}
	slices.Sort(n.unheld)
	for _, k := range slices.Compact(n.unheld) {
		if n.held[k] == [holders]int{} {
			n.freeIndex(k)
		}
	}
	n.unheld = n.unheld[:0]
}
