package bench

import (
	"testing"

	"gotest.tools/v3/assert"
)

// Every attack ends with what it is meant to show: the server has ended what it should, and the
// client that behaves was served all the while.
func TestHostile_EveryAttackIsMetAndTheClientIsServed(t *testing.T) {
	for _, c := range hostilePlan(Quick).cells {
		t.Run(c.name, func(t *testing.T) {
			a := do(t, Job{Spec: c.spec, Measure: c.measure, Hostile: c.hostile, Seed: 1, Once: true})
			assert.Assert(t, a.Sample["attackMessages"] > 0)
			if c.hostile.Attack != attackUnread {
				assert.Assert(t, a.Sample["attackRefused"] > 0, "%v", a.Sample)
			}
			if c.hostile.Attack == attackSilent {
				// 256, and those whose end is on its way to the attacker.
				assert.Assert(t, a.Sample["attackStreamsKept"] < a.Sample["attackMessages"]/2, "%v", a.Sample)
			}
		})
	}
}
