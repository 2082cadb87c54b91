package objects

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestJournal_ConsumersPostNothing(t *testing.T) {
	var j journal
	j.posting = true
	assert.Assert(t, func() (panicked bool) {
		defer func() { panicked = recover() != nil }()
		j.post(Change{Kind: RefusalsMayEnd})
		return false
	}())
}
