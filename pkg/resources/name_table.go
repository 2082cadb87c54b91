package resources

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// MaxNames bounds the different resource names of one partition. Clusters use about a dozen; the bound
// keeps vectors short whatever a client sends.
const MaxNames = 256

// MaxAskNames bounds the names among them that only asks use. The others are reserved for nodes and the
// configuration.
const MaxAskNames = 64

// Index is the index of a resource name in the vectors of one partition.
type Index int

// Holder says which kind of object uses a name.
type Holder uint8

// The holders. A name exists as long as anything holds it.
const (
	Cluster Holder = iota // nodes, foreign allocations and the configuration
	Asks                  // asks, allocations, and quotas in the tags of applications
	holders
)

// NameTable assigns indexes to the resource names of one partition (ADR 38). A name has an index as long as it is
// held. A new name gets the lowest free index, so that the same changes give the same indexes. Not for concurrent
// use: only the writer of the partition may call it.
type NameTable struct {
	names        []string // by index; empty: free
	indexes      map[string]Index
	held         [][holders]int // by index: how often each holder holds the name
	maxNames     int            // the largest number of names
	askOnlyCount int            // number of names that only asks hold
	maxAskNames  int            // the largest number of these

	pins        int     // calls of PinNumbers less calls of UnpinNumbers
	unheld      []Index // released while pinned; some may be held again
	assignCount uint64  // how often a new name got an index
	freed       func(k Index)
}

// NewNameTable returns an empty NameTable with the default bounds.
func NewNameTable() *NameTable { return NewNameTableWithBounds(MaxNames, MaxAskNames, nil) }

// NewNameTableWithBounds returns a table with other bounds than NewNameTable. freed is called with each index that
// becomes free, before another name can get it; nil: it is not called.
func NewNameTableWithBounds(maxNames, maxAskNames int, freed func(k Index)) *NameTable {
	if freed == nil {
		freed = func(Index) {}
	}
	return &NameTable{indexes: map[string]Index{}, maxNames: maxNames, maxAskNames: maxAskNames, freed: freed}
}

// OnFreed sets the function that is called with each index that becomes free.
func (n *NameTable) OnFreed(freed func(k Index)) { n.freed = freed }

// Clone returns a NameTable with the same names and indexes, without the freed callback.
func (n *NameTable) Clone() *NameTable {
	c := *n
	c.names, c.indexes, c.held, c.unheld = slices.Clone(n.names), maps.Clone(n.indexes), slices.Clone(n.held),
		slices.Clone(n.unheld)
	c.freed = func(Index) {}
	return &c
}

// Len returns a number above every index that a name has, or had. A Vector may be shorter, never longer.
func (n *NameTable) Len() int { return len(n.names) }

// Assigned returns how often a new name got an index.
func (n *NameTable) Assigned() uint64 { return n.assignCount }

// Name returns the name of index k; empty: k is free.
func (n *NameTable) Name(k Index) string { return n.names[k] }

// HoldCounts returns how often each holder holds the name of index k.
func (n *NameTable) HoldCounts(k Index) (cluster, asks int) {
	return n.held[k][Cluster], n.held[k][Asks]
}

// AskOnly returns the number of names that only asks hold.
func (n *NameTable) AskOnly() int { return n.askOnlyCount }

// Lookup returns the index of name, if it has one.
func (n *NameTable) Lookup(name string) (Index, bool) {
	k, ok := n.indexes[name]
	return k, ok
}

// NameBoundError says that a resource name is beyond the bounds.
type NameBoundError string

// Error implements error.
func (e NameBoundError) Error() string { return string(e) }

// Admit returns an error if a holder may not hold all names of a. It changes nothing. The configuration has a bound of
// its own and need not call it.
func (n *NameTable) Admit(a Amounts, by Holder) error {
	fresh := 0
	for _, x := range a.e {
		if _, ok := n.indexes[x.name]; ok {
			continue
		}
		fresh++
		switch {
		case by == Asks && n.askOnlyCount+fresh > n.maxAskNames:
			return NameBoundError(fmt.Sprintf("resource name %.100q: no node and no configuration knows it, and asks have %d "+
				"such names, of at most %d",
				x.name, n.askOnlyCount+fresh-1, n.maxAskNames))
		case len(n.indexes)+fresh > n.maxNames:
			return NameBoundError(fmt.Sprintf("resource name %.100q: more than %d different resource names in one partition",
				x.name, n.maxNames))
		}
	}
	return nil
}

// Hold returns a as a Vector and holds its names. Requires: Admit(a) for amounts that a client sent.
func (n *NameTable) Hold(a Amounts, by Holder) Vector {
	var v Vector
	for _, x := range a.e {
		k := n.HoldName(x.name, by)
		v.grow(k)
		v[k] = x.n
	}
	return v
}

// Release undoes Hold. Requires: v has not changed since.
func (n *NameTable) Release(v Vector, by Holder) {
	for k, q := range v {
		if q != 0 {
			n.ReleaseIndex(Index(k), by)
		}
	}
}

// HoldLimit does what Hold does, for a limit, zeroes included.
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

// HoldGuarantee does what Hold does, for a guarantee, zeroes included.
func (n *NameTable) HoldGuarantee(g Guarantee, by Holder) LimitVector {
	return n.HoldLimit(Limit(g), by)
}

// UpdateQuantities sets the quantities of b to those of l if both have the same names, whose holds stay.
// Otherwise it returns false and changes nothing.
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

// ReleaseBound undoes HoldLimit or HoldGuarantee.
func (n *NameTable) ReleaseBound(b LimitVector, by Holder) {
	for _, x := range b {
		n.ReleaseIndex(x.index, by)
	}
}

// Vector returns a as a Vector. Requires: its names are held; otherwise it panics.
func (n *NameTable) Vector(a Amounts) Vector {
	var v Vector
	for _, x := range a.e {
		k := n.mustLookup(x.name)
		v.grow(k)
		v[k] = x.n
	}
	return v
}

// LimitVector returns l as a LimitVector. Requires: its names are held; otherwise it panics.
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
		panic(fmt.Sprintf("resources: the name %q is not held", name))
	}
	return k
}

// Amounts returns v as Amounts. It panics if a quantity other than zero has no name.
func (t *NameTable) Amounts(v Vector) Amounts {
	n := 0
	for k, q := range v {
		if q != 0 {
			if t.names[k] == "" {
				panic(fmt.Sprintf("resources: a vector has %d at index %d, which has no name", q, k))
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

// HoldName holds a name and returns its index. Requires: as Hold.
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

// assign gives a new name the lowest free index.
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

// ReleaseIndex undoes HoldName. It panics if by does not hold the name.
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

// countAskOnly returns 1 if only asks hold the name of index k, 0 otherwise.
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

// PinNumbers makes names keep their indexes, held or not, until UnpinNumbers: while a reload releases and holds
// names, no index may change its meaning.
func (n *NameTable) PinNumbers() { n.pins++ }

// UnpinNumbers undoes one PinNumbers. The last one frees the names that are not held.
func (n *NameTable) UnpinNumbers() {
	n.pins--
	if n.pins > 0 {
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
