package affinity

import "fmt"

// Verify compares t with a Tracker that was notified from scratch of the same nodes, allocations and asks, and returns
// the first difference; nil: there is none. Kinds without users, which are kept for the next ask, and what only they
// need may be in t alone.
func (t *Tracker) Verify(anew *Tracker) error {
	unused := 0
	for key, k := range t.kinds {
		if k.users == 0 {
			unused++
			continue
		}
		if other := anew.kinds[key]; other == nil || other.users != k.users {
			return fmt.Errorf("kind %q has %d users, which counting anew does not find", key, k.users)
		}
	}
	if unused != t.unused || t.needed != anew.needed {
		return fmt.Errorf("%d kinds have no users, and %d users have constraints; counted anew, %d and %d", t.unused,
			t.needed, unused, anew.needed)
	}
	for key, k := range anew.kinds {
		if k.users > 0 && t.kinds[key] == nil {
			return fmt.Errorf("kind %q with %d users is not known", key, k.users)
		}
	}
	for id, c := range anew.counters {
		if kept := t.counters[id]; kept == nil || kept.counts.total != c.counts.total {
			return fmt.Errorf("what counts %d allocations for %s does not, or is missing", c.counts.total, id)
		}
	}
	for id, h := range anew.holders {
		if kept := t.holders[id]; kept == nil || kept.counts.total != h.counts.total {
			return fmt.Errorf("%d allocations have the anti-affinity %s, and are not counted so", h.counts.total, id)
		}
	}
	return nil
}
