package scheduler

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestExplain_NewNodeIsFeasible(t *testing.T) {
	c, now := loadedCore(t, treeConfig(1, 1), 0, 1)
	assert.Equal(t, c.Explain("k0", now).Verdict.Reason, NoSchedulableNode, "there is no node")
	c.Step(now, AddNode{Node: "n1", Total: amounts(64_000, 256<<30), Schedulable: true})
	assert.Equal(t, c.Explain("k0", now).Verdict.Reason, WaitsForTurn)
}
