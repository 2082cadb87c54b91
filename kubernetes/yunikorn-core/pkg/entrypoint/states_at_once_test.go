package entrypoint

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
)

// writingShim writes each state until the test ends it, and describes itself.
type writingShim struct {
	shim
	begun []string // the reasons
	end   chan struct{}
}

func (s *writingShim) UpdateContainerSchedulingState(r *si.UpdateContainerSchedulingStateRequest) {
	s.mu.Lock()
	s.begun = append(s.begun, r.Reason)
	s.mu.Unlock()
	<-s.end
}

func (s *writingShim) GetStateDump() (string, error) { return "it is well", nil }

// write sends states of asks as Canopy does, and returns when no other one can begin.
func (s *writingShim) write(asks ...string) {
	states := newStatesAtOnce(s, s)
	go func() {
		for i, ask := range asks {
			states.UpdateContainerSchedulingState(&si.UpdateContainerSchedulingStateRequest{
				AllocationKey: ask, Reason: fmt.Sprint(ask, i),
			})
		}
	}()
	synctest.Wait()
}

// States of several asks are written at the same time, those of one ask one after the other.
func TestStatesAtOnce_StatesOfAnAskKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shim := &writingShim{end: make(chan struct{})}
		shim.write("a", "a", "b")
		assert.DeepEqual(t, shim.begun, []string{"a0"})
		shim.end <- struct{}{}
		synctest.Wait()
		assert.Equal(t, len(shim.begun), 3)
		close(shim.end)
	})
}

// The number of calls is bounded.
func TestStatesAtOnce_AreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shim, asks := &writingShim{end: make(chan struct{})}, []string{}
		for i := range maxStatesAtOnce + 2 {
			asks = append(asks, fmt.Sprint("ask-", i, "-"))
		}
		shim.write(asks...)
		assert.Equal(t, len(shim.begun), maxStatesAtOnce)
		shim.end <- struct{}{}
		synctest.Wait()
		assert.Equal(t, len(shim.begun), maxStatesAtOnce+1)
		close(shim.end)
	})
}

// What only some shims have is handed on.
func TestStatesAtOnce_HandsOnTheStateDump(t *testing.T) {
	text, err := newStatesAtOnce(&writingShim{}, nil).GetStateDump()
	assert.NilError(t, err)
	assert.Equal(t, text, "it is well")
	text, err = newStatesAtOnce(&shim{}, nil).GetStateDump()
	assert.NilError(t, err)
	assert.Equal(t, text, "")
}
