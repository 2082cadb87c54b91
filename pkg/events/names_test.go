package events

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestNames_AreThoseOfTheInterface(t *testing.T) {
	assert.Equal(t, Application.String(), "APP")
	assert.Equal(t, Type(9).String(), "UNKNOWN")
	assert.Equal(t, NoChange.String(), "NONE")
	assert.Equal(t, Remove.String(), "REMOVE")
	assert.Equal(t, AllocationPreempted.String(), "ALLOC_PREEMPT")
	assert.Equal(t, NodeAllocated.String(), "NODE_ALLOC")
	assert.Equal(t, Detail(999).String(), "UNKNOWN")
	for d, name := range detailNames {
		assert.Assert(t, name != "" && d.String() == name)
	}
}
