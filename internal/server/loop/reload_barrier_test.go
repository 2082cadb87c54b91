package loop

import (
	"context"
	"testing"

	"gotest.tools/v3/assert"
)

// A reload whose caller has gone changes nothing, also when all loops have stopped in time for it.
func TestReloadBarrier_CallerThatHasGone(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // a select among two that are ready takes either
		b := reloadBarrier{participants: make([]participant, 1), prepared: make(chan participantReport, 1)}
		b.prepared <- participantReport{}
		assert.NilError(t, b.awaitPrepared(t.Context()))
		b.prepared <- participantReport{}
		assert.ErrorIs(t, b.awaitPrepared(ended), context.Canceled)
	}
}
