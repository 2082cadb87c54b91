package storm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// The leaves of every configuration.
var leaves = []objects.QueuePath{"root.owed", "root.spared", "root.shared", "root.fenced.x", "root.fenced.y", groups, groups, batch, batch}

const (
	batch  objects.QueuePath = "root.batch"  // whose max is lowered
	groups objects.QueuePath = "root.groups" // whose task groups look, and fall, together
)

// levels are the priorities. No queue has an offset, so they are compared as they are.
var levels = []int32{0, 10, 20, 30}

// setting is what a reload may change.
type setting struct {
	owed, spared, most int // cores
	right, budgets     string
	timeout            time.Duration
	pressure           bool
	breaker            bool // else who goes round is only named
	rounds             int
}

func anySetting(rng *rand.Rand) setting {
	return setting{
		owed: rng.IntN(16), spared: rng.IntN(12), most: 2 + rng.IntN(14),
		right:   []string{"leaf", "fence", "leaf", "disabled"}[rng.IntN(4)],
		budgets: []string{"strict", "best-effort", "ignore"}[rng.IntN(3)],
		timeout: []time.Duration{time.Minute, 5 * time.Minute, 0}[rng.IntN(3)], pressure: rng.IntN(2) == 0,
		breaker: rng.IntN(4) > 0, rounds: rng.IntN(3),
	}
}

func (s setting) partition(t *testing.T) configs.Partition {
	text := fmt.Sprintf(`
disruptionbudgets: [{name: few, selector: {matchLabels: {app: few}}, maxUnavailable: 1}]
partitions:
- name: default
  preemption: {nominationtimeout: %s, quotapreemptionenabled: true, nodepressureenabled: %t,
    churnbreakerenabled: %t, churnrounds: %d, churnpause: 1m}
  queues:
  - name: root
    submitacl: '*'
    properties: {preemption.delay: 2s, disruption.budgets: %s}
    queues:
    - {name: owed, resources: {guaranteed: {vcore: %d}}}
    - {name: spared, resources: {guaranteed: {vcore: %d}}, properties: {preemption.priority: fence}}
    - {name: shared, properties: {preemption.priority: %s}}
    - name: fenced
      properties: {preemption.policy: fence, preemption.priority: fence}
      queues: [{name: x}, {name: y, properties: {preemption.victim.order: priority}}]
    - {name: groups, properties: {preemption.priority: fence, preemption.victim.unit: taskgroup, preemption.gang: enabled}}
    - {name: batch, resources: {max: {vcore: %d}}, properties: {quota.preemption.delay: 30s, preemption.priority: leaf}}
`, s.timeout, s.pressure, s.breaker, s.rounds, s.budgets, s.owed, s.spared, s.right, s.most)
	conf, problems := configs.Load([]byte(text))
	assert.Assert(t, conf != nil, "%v", problems)
	return conf.Partitions[0]
}
