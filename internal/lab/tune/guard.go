package tune

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
)

// Other is a leaf queue that no objective is on, and a figure of it with the given configuration and with a change.
type Other struct {
	Queue    string `json:"queue"`
	Median   [2]Wait
	NeverRan [2]int // asks that never ran, or were cancelled before they did

	excess float64 // of the figure that is nearest to its bound, or above it by most: its ratio to the bound
	byWait bool    // that figure is the median
}

// MarshalJSON writes the figures by name; factor is null for a median that was 0 or is no number.
func (o Other) MarshalJSON() ([]byte, error) {
	type figures struct {
		Before any `json:"before"`
		After  any `json:"after"`
	}
	out := struct {
		Queue    string   `json:"queue"`
		Median   figures  `json:"median"`
		Factor   *float64 `json:"factor"`
		NeverRan figures  `json:"neverRan"`
	}{o.Queue, figures{o.Median[0], o.Median[1]}, nil, figures{o.NeverRan[0], o.NeverRan[1]}}
	if f := o.factor(); !math.IsInf(f, 0) && !math.IsNaN(f) {
		out.Factor = &f
	}
	return json.Marshal(out)
}

// factor returns how many times the median is what it was: NaN or infinite when it was 0, or is Forever.
func (o Other) factor() float64 {
	if time.Duration(o.Median[1]) == whatif.Forever {
		return math.Inf(1)
	}
	return float64(o.Median[1]) / float64(o.Median[0])
}

func (o Other) String() string {
	if !o.byWait {
		return fmt.Sprintf("%s never ran %d > %d", o.Queue, o.NeverRan[0], o.NeverRan[1])
	}
	text := fmt.Sprintf("%s p50 %s > %s", o.Queue, o.Median[0], o.Median[1])
	if f := o.factor(); !math.IsInf(f, 0) && !math.IsNaN(f) {
		text += fmt.Sprintf(" (x%.2f)", f)
	}
	return text
}

// worstOf returns the leaf outside of the objectives' queues that is nearest to the bound of others, or above it by
// most; nil: there is none. The bound of a median is others times what it was and a second, and of the asks that never
// ran others times as many and one.
func worstOf(objectives []Objective, others float64, before, after *whatif.Outcome) (worst *Other) {
	changed := map[string]*whatif.Group{}
	for i := range after.Queues {
		changed[after.Queues[i].Name] = &after.Queues[i]
	}
	for i := range before.Queues {
		a := &before.Queues[i]
		b := changed[a.Name]
		if b == nil || a.Asks == 0 || isTarget(objectives, a.Name) {
			continue
		}
		x := Other{
			Queue: a.Name, Median: [2]Wait{Wait(whatif.Quantile(a.Waits, 0.5)), Wait(whatif.Quantile(b.Waits, 0.5))},
			NeverRan: [2]int{a.Waiting + a.Cancelled, b.Waiting + b.Cancelled},
		}
		byWait, byCount := waitExcess(others, x.Median), float64(x.NeverRan[1])/(others*float64(x.NeverRan[0])+1)
		x.byWait, x.excess = byWait >= byCount, max(byWait, byCount)
		if worst == nil || x.excess > worst.excess {
			worst = &x
		}
	}
	return worst
}

// waitExcess returns the ratio of a median to its bound.
func waitExcess(others float64, median [2]Wait) float64 {
	switch {
	case time.Duration(median[0]) == whatif.Forever:
		return 0 // it cannot be longer
	case time.Duration(median[1]) == whatif.Forever:
		return math.Inf(1)
	}
	return float64(median[1]) / (others*float64(median[0]) + float64(time.Second))
}

// isTarget reports whether an objective is on a leaf, or on a queue above it.
func isTarget(objectives []Objective, leaf string) bool {
	for _, o := range objectives {
		if isAtOrBelow(leaf, o.Queue) {
			return true
		}
	}
	return false
}
