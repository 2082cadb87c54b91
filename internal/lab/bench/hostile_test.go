package bench

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
)

// shortenAttack shortens an attack for a quick run. A flood needs no time of its own: it goes on until every
// attacker has sent a message and the regular client has been served often enough; late
// speakers have all been answered. The other attacks are made of waiting, and keep their second.
func shortenAttack(h hostileSpec) hostileSpec {
	if (h.Attack == attackMessages || h.Attack == attackStale) && !testscale.Full() {
		h.Seconds = 0
	}
	return h
}

// Every attack ends with what it is meant to show: the server has ended what it should, and the
// regular client was served all the while.
func TestHostile_ServerWithstandsEveryAttack(t *testing.T) {
	// In the quick suite a large message is one of 8 MiB, and what is refused of nodes is so in either size.
	much := []string{"allocations-large-unregistered", "nodes-64KiB"}
	for _, c := range hostilePlan(Quick).cells {
		t.Run(c.name, func(t *testing.T) {
			if slices.Contains(much, c.name) && !testscale.Full() {
				t.Skip("a quick run leaves it out; make check runs it")
			}
			c.hostile = shortenAttack(c.hostile)
			a := runJob(t, Job{Spec: c.spec, Measure: c.measure, Hostile: c.hostile, Seed: 1, Once: true})
			assert.Assert(t, a.Sample["attackMessages"] > 0)
			if c.hostile.Attack != attackUnread {
				assert.Assert(t, a.Sample["attackRefused"] > 0, "%v", a.Sample)
			}
			if c.hostile.Attack == attackIdle {
				// 256, and those whose end is on its way to the attacker.
				assert.Assert(t, a.Sample["attackStreamsKept"] < a.Sample["attackMessages"]/2, "%v", a.Sample)
			}
		})
	}
}
