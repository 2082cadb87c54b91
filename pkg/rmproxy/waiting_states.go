package rmproxy

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// waitingStates are the waiting states of asks that were not sent to a linked shim yet. A shim writes each to the API
// server of its cluster, so they are sent on a goroutine of their own, which no decision waits for (RMI-65). Only the
// last state of an ask is kept, and none of an ask that is not pending any more.
type waitingStates struct {
	mu    sync.Mutex
	byAsk map[partitionKey]scheduler.WaitingAsk
	order []partitionKey // by which they are sent; may have asks that are not in byAsk
	wake  chan struct{}  // holds a value while byAsk may have states
	any   atomic.Bool    // byAsk has states; changed under mu, read without it for each delivery
}

// partitionKey is an ask: two partitions may have asks with the same key.
type partitionKey struct {
	partition string
	key       objects.AllocationKey
}

func newWaitingStates() *waitingStates {
	return &waitingStates{byAsk: map[partitionKey]scheduler.WaitingAsk{}, wake: make(chan struct{}, 1)}
}

// onEffects takes the states in effects, and forgets those of asks that effects have ended.
func (w *waitingStates) onEffects(partition string, effects []scheduler.Effect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.noteAny()
	for _, e := range effects {
		if states, wait := e.(scheduler.AsksWait); wait {
			for _, state := range states.Asks {
				w.add(partitionKey{partition, state.Ask.Key}, state)
			}
		} else if len(w.byAsk) > 0 {
			w.forget(partition, e)
		}
	}
}

// noteAny is for the end of each change.
func (w *waitingStates) noteAny() { w.any.Store(len(w.byAsk) > 0) }

func (w *waitingStates) add(ask partitionKey, state scheduler.WaitingAsk) {
	if _, known := w.byAsk[ask]; !known {
		w.order = append(w.order, ask)
	}
	w.byAsk[ask] = state
	if len(w.order) > 2*len(w.byAsk)+64 {
		w.dropGone()
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// dropGone removes from the order what is not in byAsk, or is in the order already.
func (w *waitingStates) dropGone() {
	seen := make(map[partitionKey]bool, len(w.byAsk))
	w.order = slices.DeleteFunc(w.order, func(ask partitionKey) bool {
		_, waits := w.byAsk[ask]
		drop := !waits || seen[ask]
		seen[ask] = true
		return drop
	})
}

// forget drops the state of the ask that e has ended.
func (w *waitingStates) forget(partition string, e scheduler.Effect) {
	switch e := e.(type) {
	case scheduler.Allocated:
		delete(w.byAsk, partitionKey{partition, e.Ask.Key})
	case scheduler.AskCancelled:
		delete(w.byAsk, partitionKey{partition, e.Key})
	case scheduler.AskTimedOut:
		delete(w.byAsk, partitionKey{partition, e.Key})
	}
	if len(w.byAsk) == 0 {
		w.order = nil
	}
}

// next is the next state to send, which it removes; ok is false if there is none.
func (w *waitingStates) next() (state scheduler.WaitingAsk, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.noteAny()
	for len(w.order) > 0 && !ok {
		ask := w.order[0]
		w.order = w.order[1:]
		state, ok = w.byAsk[ask]
		delete(w.byAsk, ask)
	}
	return state, ok
}

// sendWaitingStates sends the states of asks to the shim until the session ends.
func (s *session) sendWaitingStates() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.waiting.wake:
		}
		for w, ok := s.waiting.next(); ok && !s.ended(); w, ok = s.waiting.next() {
			s.shim.callback.UpdateContainerSchedulingState(&si.UpdateContainerSchedulingStateRequest{
				ApplicationID: string(w.Ask.App), AllocationKey: string(w.Ask.Key),
				State: si.UpdateContainerSchedulingStateRequest_SchedulingState(w.State), Reason: reason(w.Reason()),
			})
		}
	}
}
