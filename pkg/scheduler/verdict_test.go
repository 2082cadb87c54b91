package scheduler

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestExplain_KnowsANodeThatHasJustJoined(t *testing.T) {
	c, now := loaded(t, tree(1, 1), 0, 1)
	assert.Equal(t, c.Explain("k0", now).Verdict.Obstacle, NoNodes, "there is no capacity at all")
	c.Step(now, AddNode{Node: "n1", Total: amounts(64_000, 256<<30), Schedulable: true})
	assert.Equal(t, c.Explain("k0", now).Verdict.Obstacle, WaitsForTurn)
}
