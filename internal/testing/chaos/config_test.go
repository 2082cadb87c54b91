package chaos

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// The leaves of every configuration.
var leaves = []objects.QueuePath{"root.owed", "root.spared", "root.shared", "root.fenced.x", "root.fenced.y",
	groupsLeaf, groupsLeaf, batchLeaf, batchLeaf}

const (
	batchLeaf  objects.QueuePath = "root.batch"  // whose max is lowered
	groupsLeaf objects.QueuePath = "root.groups" // whose gangs preempt, and are preempted, together
)

// priorityLevels are the priorities. No queue has an offset, so that they are compared unchanged.
var priorityLevels = []int32{0, 10, 20, 30}

// setting are the settings that a reload may change.
type setting struct {
	guaranteedCores, protectedCores, batchMaxCores int // cores
	priorityPreemption, budgets                    string
	nominationTimeout                              time.Duration
	nodePressure                                   bool
	circuitBreaker                                 bool // false: preemption cycles are only reported
	cycleRounds                                    int
	reservations                                   bool
	reservationDelay, reservationTimeout           time.Duration
}

func randomSetting(rng *rand.Rand) setting {
	return setting{
		guaranteedCores: rng.IntN(16), protectedCores: rng.IntN(12), batchMaxCores: 2 + rng.IntN(14),
		priorityPreemption: []string{"leaf", "fence", "leaf", "disabled"}[rng.IntN(4)],
		budgets:            []string{"strict", "best-effort", "ignore"}[rng.IntN(3)],
		nominationTimeout:  []time.Duration{time.Minute, 5 * time.Minute, 0}[rng.IntN(3)], nodePressure: rng.IntN(2) == 0,
		circuitBreaker: rng.IntN(4) > 0, cycleRounds: rng.IntN(3),
		reservations: rng.IntN(4) > 0, reservationDelay: []time.Duration{0, 2 * time.Second}[rng.IntN(2)],
		reservationTimeout: []time.Duration{20 * time.Second, time.Hour}[rng.IntN(2)],
	}
}

func (s setting) partition(t *testing.T) configs.Partition {
	text := fmt.Sprintf(`
disruptionbudgets: [{name: few, selector: {matchLabels: {app: few}}, maxUnavailable: 1}]
partitions:
- name: default
  preemption: {nominationtimeout: %s, quotapreemptionenabled: true, nodepressureenabled: %t,
    churnbreakerenabled: %t, churncycles: %d, churncooldown: 1m}
  reservation: {enabled: %t, delay: %s, timeout: %s}
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
    - name: groups
      properties: {preemption.priority: fence, preemption.victim.unit: taskgroup, preemption.gang: enabled}
    - {name: batch, resources: {max: {vcore: %d}}, properties: {quota.preemption.delay: 30s, preemption.priority: leaf}}
`, s.nominationTimeout, s.nodePressure, s.circuitBreaker, s.cycleRounds, s.reservations, s.reservationDelay,
		s.reservationTimeout, s.budgets, s.guaranteedCores, s.protectedCores, s.priorityPreemption, s.batchMaxCores)
	conf, problems := queuesyaml.Load([]byte(text))
	assert.Assert(t, conf != nil, "%v", problems)
	return conf.Partitions[0]
}
