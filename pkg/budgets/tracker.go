package budgets

import (
	"fmt"
	"slices"
)

// Tracked is a budget in force. It counts the allocations that the budget selects, and those of them that are
// preempting (ADR 27). It is valid until budgets change.
type Tracked struct {
	conf       *Budget
	index      int        // in Tracker.all
	asList     []*Tracked // this budget alone, for allocations that no other selects
	selected   int        // number of allocations
	preempting int        // of these, those that are preempting
}

// Name returns namespace/name.
func (b *Tracked) Name() string { return b.conf.ID() }

// Config returns the configured budget. Read-only.
func (b *Tracked) Config() *Budget { return b.conf }

// Selected returns how many allocations the budget selects, preempting ones included.
func (b *Tracked) Selected() int { return b.selected }

// Preempting returns how many of these are marked for preemption.
func (b *Tracked) Preempting() int { return b.preempting }

// DisruptionsAllowed returns how many more selected allocations may be preempted now. It is negative if too many were,
// or if fewer run than must (PRE-67).
func (b *Tracked) DisruptionsAllowed() int {
	return b.conf.Allowance.DisruptionsAllowed(b.selected, b.preempting)
}

// Tracker holds the budgets in force and the allocations that each selects. A is an allocation; one that no budget
// selects is not recorded, so that it costs nothing.
type Tracker[A comparable] struct {
	all          []*Tracked                 // by namespace, then by name
	byNamespace  map[string]*namespaceIndex // by namespace
	byAllocation map[A][]*Tracked           // those that a budget selects, with their budgets in name order
}

// NewTracker tracks budgets, and no allocation yet. Requires: they are valid, and in the order of namespace and name.
func NewTracker[A comparable](all []Budget) Tracker[A] {
	t := Tracker[A]{byNamespace: map[string]*namespaceIndex{}, byAllocation: map[A][]*Tracked{}}
	for i := range all {
		b := &Tracked{conf: &all[i], index: i}
		b.asList = []*Tracked{b}
		t.all = append(t.all, b)
		in := t.byNamespace[b.conf.Namespace]
		if in == nil {
			in = &namespaceIndex{}
			t.byNamespace[b.conf.Namespace] = in
		}
		in.add(b)
	}
	return t
}

// All returns the budgets, by namespace and then by name. Read-only.
func (t *Tracker[A]) All() []*Tracked { return t.all }

// Of returns the budgets that select an allocation, in name order. Read-only.
func (t *Tracker[A]) Of(x A) []*Tracked {
	if len(t.byAllocation) == 0 {
		return nil
	}
	return t.byAllocation[x]
}

// Add counts x, which has these tags, in the budgets that select it. It reports whether there is one.
func (t *Tracker[A]) Add(x A, tags map[string]string) (selected bool) {
	if len(t.all) == 0 || len(tags) == 0 {
		return false
	}
	in := t.byNamespace[NamespaceOf(tags)]
	if in == nil {
		return false
	}
	found := in.selecting(tags)
	for _, b := range found {
		b.selected++
	}
	if len(found) > 0 {
		t.byAllocation[x] = found
	}
	return len(found) > 0
}

// Selects reports whether a budget selects an allocation with these tags.
func (t *Tracker[A]) Selects(tags map[string]string) bool {
	if len(t.all) == 0 || len(tags) == 0 {
		return false
	}
	in := t.byNamespace[NamespaceOf(tags)]
	return in != nil && len(in.selecting(tags)) > 0
}

// Remove reverts Add. Requires: x is not counted as preempting.
func (t *Tracker[A]) Remove(x A) {
	for _, b := range t.Of(x) {
		b.selected--
	}
	delete(t.byAllocation, x)
}

// CountPreempting adds n to the preempting allocations of the budgets of x.
func (t *Tracker[A]) CountPreempting(x A, n int) {
	for _, b := range t.Of(x) {
		b.preempting += n
	}
}

// Each yields the allocations that a budget selects, in no order.
func (t *Tracker[A]) Each(yield func(A) bool) {
	for x := range t.byAllocation {
		if !yield(x) {
			return
		}
	}
}

// Check compares t with a count from scratch and returns the first difference; nil: there is none. each yields all
// allocations that may be selected, with their tags and whether they are preempting.
func (t *Tracker[A]) Check(all []Budget,
	each func(yield func(x A, tags map[string]string, preempting bool))) (err error) {
	if len(all) != len(t.all) {
		return fmt.Errorf("%d budgets are configured, there are %d", len(all), len(t.all))
	}
	for i, b := range t.all {
		if !b.conf.Equal(&all[i]) {
			return fmt.Errorf("budget %s is not as configured", b.Name())
		}
	}
	selected, disrupted, selectedByAny := map[*Tracked]int{}, map[*Tracked]int{}, 0
	each(func(x A, tags map[string]string, preempting bool) {
		var want []*Tracked
		for _, b := range t.all {
			if b.conf.Selects(tags) {
				want = append(want, b)
				selected[b]++
				if preempting {
					disrupted[b]++
				}
			}
		}
		if err == nil && !slices.Equal(t.Of(x), want) {
			err = fmt.Errorf("%v has %d budgets, which are not the %d that select it", x, len(t.Of(x)), len(want))
		}
		selectedByAny += min(1, len(want))
	})
	for _, b := range t.all {
		if err == nil && (b.selected != selected[b] || b.preempting != disrupted[b]) {
			err = fmt.Errorf("budget %s counts %d allocations, %d of them preempting; there are %d and %d",
				b.Name(), b.selected, b.preempting, selected[b], disrupted[b])
		}
	}
	if err == nil && selectedByAny != len(t.byAllocation) {
		err = fmt.Errorf("%d allocations have budgets, %d are recorded", selectedByAny, len(t.byAllocation))
	}
	return err
}
