package resources

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Percent is a part of a quantity, in hundredths of a percent: 4000 is 40 %. It is above 0 and at most 10000 (QUO-63).
type Percent int32

// AllPercent is 100 %.
const AllPercent Percent = 100_00

// ErrPercent is the error of ParsePercent.
var ErrPercent = errors.New("invalid percent")

// IsPercent reports whether a text is meant as a percent: it ends with the sign.
func IsPercent(text string) bool { return strings.HasSuffix(strings.TrimSpace(text), "%") }

// ParsePercent reads a percent as queues.yaml has it, such as 40% or 12.5 %: above 0, at most 100, with at most two
// decimals. Another text is ErrPercent.
func ParsePercent(text string) (Percent, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	whole, decimals, point := strings.Cut(strings.TrimRight(number, " \t"), ".")
	if !ok || point && decimals == "" || len(decimals) > 2 || strings.Trim(whole+decimals, "0123456789") != "" {
		return 0, ErrPercent
	}
	n, err := strconv.ParseUint(whole, 10, 32)
	hundredths, _ := strconv.Atoi((decimals + "00")[:2])
	p := n*100 + uint64(hundredths)
	if err != nil || p == 0 || p > uint64(AllPercent) {
		return 0, ErrPercent
	}
	return Percent(p), nil
}

// String returns "40%" or "12.5%".
func (p Percent) String() string { return strconv.FormatFloat(float64(p)/100, 'f', -1, 64) + "%" }

// Of returns p of n, rounded down. n must not be negative.
func (p Percent) Of(n Quantity) Quantity {
	hi, lo := bits.Mul64(uint64(n), uint64(p))
	part, _ := bits.Div64(hi, lo, uint64(AllPercent))
	return Quantity(part)
}

// percents are the percents of a Limit or a Guarantee by resource; nil: there are none. Few have some, and they take
// 8 bytes of the others.
type percents struct{ list []percentEntry } // sorted by name

type percentEntry struct {
	name string
	p    Percent
}

// percentsFromMap copies m; nil if it is empty.
func percentsFromMap(m map[string]Percent) *percents {
	if len(m) == 0 {
		return nil
	}
	out := &percents{make([]percentEntry, 0, len(m))}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out.list = append(out.list, percentEntry{name, m[name]})
	}
	return out
}

func (s *percents) entries() []percentEntry {
	if s == nil {
		return nil
	}
	return s.list
}

func (s *percents) equal(t *percents) bool { return slices.Equal(s.entries(), t.entries()) }

func (s *percents) all(yield func(string, Percent) bool) {
	for _, x := range s.entries() {
		if !yield(x.name, x.p) {
			return
		}
	}
}

func (s *percents) get(name string) (Percent, bool) {
	for _, x := range s.entries() {
		if x.name == name {
			return x.p, true
		}
	}
	return 0, false
}

func (s *percents) toMap() map[string]Percent { return maps.Collect(s.all) }

// text adds the percents to the text of the quantities.
func (s *percents) text(quantities string) string {
	words := make([]string, 0, len(s.entries())+1)
	if quantities != "" {
		words = append(words, quantities)
	}
	for _, x := range s.entries() {
		words = append(words, x.name+"="+x.p.String())
	}
	return strings.Join(words, " ")
}

// effective returns the quantities of e and s, each as n says.
func effective(e []entry, s *percents, n func(name string) Quantity) []entry {
	out := make([]entry, 0, len(e)+len(s.entries()))
	for _, x := range e {
		out = append(out, entry{x.name, n(x.name)})
	}
	for _, x := range s.entries() {
		out = append(out, entry{x.name, n(x.name)})
	}
	if s != nil {
		slices.SortFunc(out, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	}
	return out
}

// WithPercents returns l with percents of the resources of m, which l must not name. They have no quantity, so that
// only the methods about percents, Equal, IsUnlimited and String see them: see Effective.
func (l Limit) WithPercents(m map[string]Percent) Limit { return Limit{l.e, percentsFromMap(m)} }

// Percents yields the percents of l, in name order.
func (l Limit) Percents() iter.Seq2[string, Percent] { return l.percents.all }

// HasPercents reports whether l has a percent of a resource.
func (l Limit) HasPercents() bool { return l.percents != nil }

// Percent returns the percent of a resource. ok is false if l has none.
func (l Limit) Percent(name string) (p Percent, ok bool) { return l.percents.get(name) }

// PercentMap copies the percents into a map. It is never nil.
func (l Limit) PercentMap() map[string]Percent { return l.percents.toMap() }

// Effective returns a limit without percents that has the quantity n of each resource that l names.
func (l Limit) Effective(n func(name string) Quantity) Limit {
	return Limit{e: effective(l.e, l.percents, n)}
}

// WithPercents returns g with percents of the resources of m, as Limit.WithPercents.
func (g Guarantee) WithPercents(m map[string]Percent) Guarantee {
	return Guarantee{g.e, percentsFromMap(m)}
}

// Percents yields the percents of g, in name order.
func (g Guarantee) Percents() iter.Seq2[string, Percent] { return g.percents.all }

// HasPercents reports whether g has a percent of a resource.
func (g Guarantee) HasPercents() bool { return g.percents != nil }

// Percent returns the percent of a resource. ok is false if g has none.
func (g Guarantee) Percent(name string) (p Percent, ok bool) { return g.percents.get(name) }

// PercentMap copies the percents into a map. It is never nil.
func (g Guarantee) PercentMap() map[string]Percent { return g.percents.toMap() }

// Effective returns a guarantee without percents that has the quantity n of each resource that g names.
func (g Guarantee) Effective(n func(name string) Quantity) Guarantee {
	return Guarantee{e: effective(g.e, g.percents, n)}
}
