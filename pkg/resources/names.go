package resources

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// MaxNames is how many different resource names one partition may use. Real
// clusters use a dozen; the bound keeps nonsense from a door out of every vector.
const MaxNames = 256

// Kind is the number of a resource name within one partition.
type Kind int

// Names numbers the resource names of one partition, in the order in which they
// were first seen. It only grows. Not for concurrent use: it belongs to the writer
// of the partition.
type Names struct {
	names []string
	kinds map[string]Kind
}

// NewNames returns a Names that knows no resource.
func NewNames() *Names { return &Names{kinds: map[string]Kind{}} }

// Clone returns a Names that knows the same resources by the same numbers.
func (n *Names) Clone() *Names {
	return &Names{names: slices.Clone(n.names), kinds: maps.Clone(n.kinds)}
}

// Len is how many names are known. A Vector may be shorter, never longer.
func (n *Names) Len() int { return len(n.names) }

// Name returns the name of k.
func (n *Names) Name(k Kind) string { return n.names[k] }

// Lookup returns the number of name, if it has one.
func (n *Names) Lookup(name string) (Kind, bool) {
	k, ok := n.kinds[name]
	return k, ok
}

// Admit reports an error when interning all names of a would exceed MaxNames. It
// changes nothing.
func (n *Names) Admit(a Amounts) error {
	fresh := 0
	for _, x := range a.e {
		if _, ok := n.kinds[x.name]; !ok {
			fresh++
		}
	}
	if len(n.names)+fresh > MaxNames {
		return fmt.Errorf("more than %d different resource names in one partition", MaxNames)
	}
	return nil
}

// Vector interns a. Requires: Admit(a), for input that came through a door.
func (n *Names) Vector(a Amounts) Vector {
	var v Vector
	for _, x := range a.e {
		k := n.Intern(x.name)
		v.reach(k)
		v[k] = x.n
	}
	return v
}

// Bound interns l.
func (n *Names) Bound(l Limit) Bound {
	if len(l.e) == 0 {
		return nil
	}
	b := make(Bound, 0, len(l.e))
	for _, x := range l.e {
		b = append(b, bounded{n.Intern(x.name), x.n})
	}
	return b
}

// Promise interns g.
func (n *Names) Promise(g Guarantee) Bound { return n.Bound(Limit(g)) }

// Amounts gives v its names back.
func (t *Names) Amounts(v Vector) Amounts {
	n := 0
	for _, q := range v {
		if q != 0 {
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

// Intern returns the number of name, which gets one if it has none. Requires: Admit,
// for a name that came through a door.
func (n *Names) Intern(name string) Kind {
	k, ok := n.kinds[name]
	if !ok {
		k = Kind(len(n.names))
		n.names = append(n.names, name)
		n.kinds[name] = k
	}
	return k
}
