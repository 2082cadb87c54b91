package rmproxy

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// assertReplaced checks that one RM, and no other, was replaced, and that the log and the metric say so.
func (r *rig) assertReplaced(former, by, why string) {
	r.t.Helper()
	lines := r.logs.FilterMessage("resource manager replaced").TakeAll()
	assert.Equal(r.t, len(lines), 1)
	fields := lines[0].ContextMap()
	assert.Equal(r.t, fmt.Sprint(fields["rm"], " ", fields["by"], " ", fields["reason"]), former+" "+by+" "+why)
	assert.Equal(r.t, r.p.Counts().Replacements, uint64(1))
}

// With ReplaceConnected another RM replaces a connected one at once. The replaced one does not take the registration
// back while its successor is connected; when that is gone for long enough it may.
func TestReplacement_ConnectedRMIsReplacedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFullNodeRig(t, testOptions{Limits: Limits{ReplaceConnected: true, DisconnectedTimeout: time.Minute}})
		state, _ := r.p.ConnectionStatus()
		assert.Assert(t, state.Connected && state.ReplaceableAt.Equal(state.At))
		n := r.openNodeStream()
		synctest.Wait()
		assert.NilError(t, r.register("other", queues))
		assertStreamFails(t, n, codes.Aborted, "another resource manager has registered")
		assert.Equal(t, r.snapshot("default").Nodes.Len(), 0, "a new registration starts over")
		r.assertReplaced("rm", "other", "it was connected, and may be replaced at any time")

		err := r.register("rm", queues)
		assert.Equal(t, status.Code(err), codes.FailedPrecondition)
		assert.ErrorContains(t, err, "RM other has been registered before, active partitions 1")
		assert.NilError(t, r.register("third", queues), "it was never replaced")
		assert.ErrorContains(t, r.register("other", queues), "RM third has been registered before")
		<-time.After(time.Minute)
		assert.NilError(t, r.register("rm", queues))
		assert.ErrorContains(t, r.register("third", queues), "RM rm has been registered before")
		assert.NilError(t, r.register("other-2", queues))
	})
}

// An RM that a refused registration was to replace stays, and the sender of the refused one is not held back later.
func TestReplacement_RefusedRegistrationReplacesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFullNodeRig(t, testOptions{Limits: Limits{ReplaceConnected: true}})
		assert.ErrorContains(t, r.register("other", "partitions: ["), "invalid configuration")
		state, _ := r.p.ConnectionStatus()
		assert.Assert(t, state.RM == "rm" && state.Connected && r.p.Counts().Replacements == 0)
		assert.NilError(t, r.register("other", queues))
	})
}

// However many RMs replace each other, what is remembered of them is bounded, and the latest are remembered.
func TestReplacement_ReplacedRMsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{Limits: Limits{ReplaceConnected: true}})
		r.ctx = t.Context()
		for i := range maxReplaced + 3 {
			assert.NilError(t, r.register(fmt.Sprint("rm-", i), queues))
		}
		assert.Equal(t, len(r.p.replaced), maxReplaced)
		assert.ErrorContains(t, r.register(fmt.Sprint("rm-", maxReplaced+1), queues), "has been registered before")
	})
}

// Each registration but the first says in the effects of the partitions why everything was removed.
func TestReplacement_PartitionsSayWhyTheyWereEmptied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var reasons []string
		r := newBubbleRig(t,
			testOptions{Limits: Limits{ReplaceConnected: true}, OnEffects: func(_ string, effects []scheduler.Effect) {
				mu.Lock()
				defer mu.Unlock()
				for _, e := range effects {
					if e, ok := e.(scheduler.PartitionReset); ok {
						reasons = append(reasons, e.Reason)
					}
				}
			}})
		for _, rm := range []string{"rm", "rm", "other"} {
			assert.NilError(t, r.register(rm, queues))
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		assert.DeepEqual(t, reasons,
			[]string{"", "resource manager rm registered again",
				"resource manager other replaced rm: it had no stream, and may be replaced at any time"})
	})
}
