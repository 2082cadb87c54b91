package rmproxy

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/hints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// waitingStates are the waiting states of asks that were not sent yet, to a linked shim or on a stream of hints. A shim
// writes each to the API server of its cluster, so they are sent on a goroutine of their own, which no decision waits
// for (RMI-65, RMI-86). Only the last state of an ask is kept, and none of an ask that is not pending any more; a
// stream of hints is told the end of an ask whose state it was told.
type waitingStates struct {
	mu    sync.Mutex
	byAsk map[partitionKey]scheduler.WaitingAsk
	order []partitionKey // by which they are sent; may have asks that are not in byAsk
	wake  chan struct{}  // holds a value while byAsk may have states
	any   atomic.Bool    // effects may end a state; changed under mu, read without it for each delivery

	// The following are for a stream of hints; nil for a linked shim.

	told    map[partitionKey]struct{} // asks of which next has returned a state that was not the end
	ended   map[partitionKey]struct{} // asks that have ended since the stream began; nil: its initial states are there
	initial map[partitionKey]struct{} // initial states that next has not returned
}

// partitionKey is an ask: two partitions may have asks with the same key.
type partitionKey struct {
	partition string
	key       objects.AllocationKey
}

func newWaitingStates() *waitingStates {
	return &waitingStates{byAsk: map[partitionKey]scheduler.WaitingAsk{}, wake: make(chan struct{}, 1)}
}

// newWatchedStates returns the states for a stream of hints. It needs initial states.
func newWatchedStates() *waitingStates {
	w := newWaitingStates()
	w.told, w.ended = map[partitionKey]struct{}{}, map[partitionKey]struct{}{}
	w.noteAny()
	return w
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
		} else if w.mayEnd() {
			w.forget(partition, e)
		}
	}
}

// noteAny is for the end of each change.
func (w *waitingStates) noteAny() { w.any.Store(w.mayEnd()) }

// mayEnd reports whether the end of an ask changes anything.
func (w *waitingStates) mayEnd() bool { return len(w.byAsk) > 0 || len(w.told) > 0 || w.ended != nil }

func (w *waitingStates) add(ask partitionKey, state scheduler.WaitingAsk) {
	if _, known := w.byAsk[ask]; !known {
		w.order = append(w.order, ask)
	}
	w.byAsk[ask] = state
	if len(w.order) > 2*len(w.byAsk)+64 {
		w.dropGone()
	}
	w.signal()
}

func (w *waitingStates) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// addInitial adds states of a partition from a snapshot that was made after the stream began. Effects that were
// delivered since are later, or come again.
func (w *waitingStates) addInitial(partition string, states []scheduler.WaitingAsk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.noteAny()
	for _, state := range states {
		ask := partitionKey{partition, state.Ask.Key}
		_, known := w.byAsk[ask]
		_, ended := w.ended[ask]
		if !known && !ended {
			w.add(ask, state)
		}
	}
}

// endInitial is called after the states of all partitions were added.
func (w *waitingStates) endInitial() {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.noteAny()
	w.ended, w.initial = nil, make(map[partitionKey]struct{}, len(w.byAsk))
	for ask := range w.byAsk {
		w.initial[ask] = struct{}{}
	}
	w.signal()
}

// initialComplete reports whether next has returned all initial states that have not ended before.
func (w *waitingStates) initialComplete() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended == nil && len(w.initial) == 0
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
		w.end(partitionKey{partition, e.Ask.Key}, e.Ask.App)
	case scheduler.AskCancelled:
		w.end(partitionKey{partition, e.Key}, e.App)
	case scheduler.AskTimedOut:
		w.end(partitionKey{partition, e.Key}, e.App)
	}
}

// end drops the state of an ask, or puts its end in the place if that has to be told.
func (w *waitingStates) end(ask partitionKey, app objects.AppID) {
	delete(w.byAsk, ask)
	delete(w.initial, ask)
	if w.ended != nil {
		w.ended[ask] = struct{}{}
	}
	if _, told := w.told[ask]; told {
		w.add(ask, scheduler.WaitingAsk{Ask: &objects.Ask{Key: ask.key, App: app}, State: objects.WaitUnreported})
	}
	if len(w.byAsk) == 0 {
		w.order = nil
	}
}

// next is the next state to send, which it removes; ok is false if there is none.
func (w *waitingStates) next() (state hints.Change, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.noteAny()
	for len(w.order) > 0 && !ok {
		ask := w.order[0]
		w.order = w.order[1:]
		state.Partition = ask.partition
		state.WaitingAsk, ok = w.byAsk[ask]
		delete(w.byAsk, ask)
		if ok {
			w.noteTold(ask, state.State)
		}
	}
	return state, ok
}

// noteTold records that next returns a state.
func (w *waitingStates) noteTold(ask partitionKey, state objects.WaitingState) {
	delete(w.initial, ask)
	switch {
	case w.told == nil:
	case state == objects.WaitUnreported:
		delete(w.told, ask)
	default:
		w.told[ask] = struct{}{}
	}
}

// sendWaitingStates sends the states of asks to the shim until the session ends.
func (s *session) sendWaitingStates(states *waitingStates) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-states.wake:
		}
		for w, ok := states.next(); ok && !s.ended(); w, ok = states.next() {
			s.shim.callback.UpdateContainerSchedulingState(&si.UpdateContainerSchedulingStateRequest{
				ApplicationID: string(w.Ask.App), AllocationKey: string(w.Ask.Key),
				State: si.UpdateContainerSchedulingStateRequest_SchedulingState(w.State), Reason: reason(w.Reason()),
			})
		}
	}
}
