package fairness

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Check verifies that the levels are those of the partition, and that what is held is what runs, unless changes are
// left to Settle, as after a routine decision.
func (eng *Engine) Check() error {
	if eng.changed {
		return nil
	}
	for q := range objects.EachQueue(eng.part) {
		if l := eng.levels[q.Path()]; q.OverTime() != (l != nil && l.queue == q) {
			return fmt.Errorf("fairness: queue %s is ordered by usage over time: %v", q.Path(), q.OverTime())
		}
	}
	runs := 0
	for _, l := range eng.order {
		running := 0
		runs += len(l.running)
		for name, m := range l.members {
			if m.index >= 0 {
				running++
			}
			switch {
			case name != m.name || m.level != l || m.history.Held > 0 && m.index < 0 || m.index >= 0 && l.running[m.index] != m:
				return fmt.Errorf("fairness: %s of %s is listed wrongly", name, l.path)
			case !eng.repriced && m.history.Held != eng.held(m):
				return fmt.Errorf("fairness: %s of %s holds %d instead of %d", name, l.path, m.history.Held, eng.held(m))
			case m.active != (m.history.Held > 0 || m.pending()) && !eng.repriced:
				return fmt.Errorf("fairness: %s of %s is active: %v", name, l.path, m.active)
			}
			for _, a := range m.apps {
				if eng.apps[a] != m || a.Queue() != l.queue {
					return fmt.Errorf("fairness: application %s counts for %s of %s", a.ID(), name, l.path)
				}
			}
		}
		if running != len(l.running) {
			return fmt.Errorf("fairness: %d members of %s run, and %d are listed", running, l.path, len(l.running))
		}
	}
	if runs != eng.runs {
		return fmt.Errorf("fairness: %d members run, and %d are counted", runs, eng.runs)
	}
	return nil
}
