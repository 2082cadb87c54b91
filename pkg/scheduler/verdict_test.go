package scheduler

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestWhyKnowsANodeThatHasJustJoined(t *testing.T) {
	c, now := loaded(t, tree(1, 1), 0, 1)
	assert.Equal(t, c.Why("k0").Obstacle, OverMax, "there is no capacity at all")
	c.Step(now, AddNode{Node: "n1", Total: amounts(64_000, 256<<30), Schedulable: true})
	assert.Equal(t, c.Why("k0").Obstacle, WaitsForTurn)
}
