package budgets

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

// However allocations come, go and are preempted, the counts equal those of a count made anew.
func TestTracker_EqualsACountMadeAnew(t *testing.T) {
	values := []string{"", "db", "web"}
	rapid.Check(t, func(t *rapid.T) {
		var all []Budget
		for i := range rapid.IntRange(0, 4).Draw(t, "budgets") {
			selector := NewSelector(map[string]string{"app": rapid.SampledFrom(values).Draw(t, "app")}, nil)
			if rapid.Bool().Draw(t, "expression") {
				selector = NewSelector(nil, []Expression{{Key: "app", Operator: Exists}})
			}
			all = append(all,
				Budget{Namespace: "default", Name: fmt.Sprint("b", i), Selector: selector,
					Allowance: Allowance{Kind: MinAvailable, N: 1}})
		}
		tracker := NewTracker[int](all)
		tags, preempting := map[int]map[string]string{}, map[int]bool{}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			x := rapid.IntRange(0, 7).Draw(t, "allocation")
			_, known := tags[x]
			switch {
			case !known:
				tags[x] = map[string]string{LabelTag + "app": rapid.SampledFrom(values).Draw(t, "value")}
				assert.Equal(t, tracker.Add(x, tags[x]), len(tracker.Of(x)) > 0)
			case !preempting[x] && rapid.Bool().Draw(t, "preempted"):
				preempting[x] = true
				tracker.CountPreempting(x, 1)
			default:
				if preempting[x] {
					tracker.CountPreempting(x, -1)
				}
				tracker.Remove(x)
				delete(tags, x)
				delete(preempting, x)
			}
			assert.NilError(t, tracker.Check(all, func(yield func(int, map[string]string, bool)) {
				for x, of := range tags {
					yield(x, of, preempting[x])
				}
			}))
		}
		for _, b := range tracker.All() {
			assert.Equal(t, b.DisruptionsAllowed(), b.Selected()-b.Preempting()-1)
		}
	})
}

func TestTracker_CheckFindsDamage(t *testing.T) {
	all := []Budget{{Namespace: "default", Name: "b", Selector: NewSelector(map[string]string{"app": "db"}, nil)}}
	tags := map[string]string{LabelTag + "app": "db"}
	for want, damage := range map[string]func(t *Tracker[int]){
		"1 budgets are configured, there are 0": func(t *Tracker[int]) {
			t.all = nil
		},
		"budget default/c is not as configured": func(t *Tracker[int]) {
			t.all[0].conf = &Budget{Namespace: "default", Name: "c"}
		},
		"1 has 0 budgets, which are not the 1 that select it": func(t *Tracker[int]) {
			delete(t.byAllocation, 1)
		},
		"budget default/b counts 2 allocations, 0 of them preempting; there are 1 and 0": func(t *Tracker[int]) {
			t.all[0].selected++
		},
		"budget default/b counts 1 allocations, 1 of them preempting; there are 1 and 0": func(t *Tracker[int]) {
			t.all[0].preempting++
		},
		"1 allocations have budgets, 2 are recorded": func(t *Tracker[int]) {
			t.byAllocation[2] = t.all
		},
	} {
		tracker := NewTracker[int](all)
		assert.Assert(t, tracker.Add(1, tags))
		damage(&tracker)
		assert.Error(t, tracker.Check(all, func(yield func(int, map[string]string, bool)) { yield(1, tags, false) }), want)
	}
}
