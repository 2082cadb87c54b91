package resources

import (
	"cmp"
	"iter"
	"slices"
)

// Limit holds the largest quantity of each resource that may be used. The zero value limits nothing: a missing name is
// unlimited, a name with zero forbids the resource (QUO-2). Values are immutable.
type Limit struct {
	e        []entry   // sorted by name, zeroes are kept
	percents *percents // nil: none
}

// LimitFromMap copies m, zeroes included.
func LimitFromMap(m map[string]Quantity) Limit { return Limit{e: entries(m)} }

// Get returns the limit of name; ok is false if it is unlimited.
func (l Limit) Get(name string) (n Quantity, ok bool) { return find(l.e, name) }

// All yields the limited names and their limits, in name order.
func (l Limit) All() iter.Seq2[string, Quantity] { return all(l.e) }

// IsUnlimited reports whether l limits no resource.
func (l Limit) IsUnlimited() bool { return len(l.e) == 0 && l.percents == nil }

// Equal reports whether l and m have the same names, quantities and percents.
func (l Limit) Equal(m Limit) bool {
	return slices.Equal(l.e, m.e) && l.percents.equal(m.percents)
}

// Headroom returns l less used, which may be negative. Resources that l does not name stay unlimited.
func (l Limit) Headroom(used Amounts) Limit {
	out := slices.Clone(l.e)
	for i := range out {
		out[i].n = subSat(out[i].n, used.Get(out[i].name))
	}
	return Limit{e: out}
}

// Tighten returns the smaller of the two limits in each resource.
func (l Limit) Tighten(m Limit) Limit {
	out := slices.Clone(l.e)
	for _, x := range m.e {
		i, ok := slices.BinarySearchFunc(out, x.name, func(y entry, s string) int { return cmp.Compare(y.name, s) })
		if ok {
			out[i].n = min(out[i].n, x.n)
		} else {
			out = slices.Insert(out, i, x)
		}
	}
	return Limit{e: out}
}

// Allows reports whether a is within l. A negative limit allows zero and less.
func (l Limit) Allows(a Amounts) bool {
	return !slices.ContainsFunc(l.e, func(x entry) bool { return a.Get(x.name) > max(0, x.n) })
}

// Map copies l into a map, zeroes included. It is never nil.
func (l Limit) Map() map[string]Quantity { return toMap(l.e) }

// String returns "unlimited" or "≤{vcore=500}".
func (l Limit) String() string {
	if l.IsUnlimited() {
		return "unlimited"
	}
	return "≤{" + l.percents.text(format(l.e)) + "}"
}

// Guarantee holds the quantity of each resource that is guaranteed. The zero value guarantees nothing. A name with zero
// is not the same as a missing name: the fair share then counts the queue as fully served once it uses any (ORD-18),
// and the queues below may not be guaranteed any (QUO-18). Values are immutable.
type Guarantee struct {
	e        []entry   // sorted by name, zeroes are kept
	percents *percents // nil: none
}

// GuaranteeFromMap copies m, zeroes included.
func GuaranteeFromMap(m map[string]Quantity) Guarantee { return Guarantee{e: entries(m)} }

// Get returns the guarantee of name; ok is false if there is none.
func (g Guarantee) Get(name string) (n Quantity, ok bool) { return find(g.e, name) }

// All yields the guaranteed names and quantities, in name order.
func (g Guarantee) All() iter.Seq2[string, Quantity] { return all(g.e) }

// IsEmpty reports whether g guarantees no resource.
func (g Guarantee) IsEmpty() bool { return len(g.e) == 0 && g.percents == nil }

// Equal reports whether g and h have the same names, quantities and percents.
func (g Guarantee) Equal(h Guarantee) bool {
	return slices.Equal(g.e, h.e) && g.percents.equal(h.percents)
}

// Map copies g into a map, zeroes included. It is never nil.
func (g Guarantee) Map() map[string]Quantity { return toMap(g.e) }

// String returns "≥{vcore=500}".
func (g Guarantee) String() string { return "≥{" + g.percents.text(format(g.e)) + "}" }
