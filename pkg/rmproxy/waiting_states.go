package rmproxy

import (
	"maps"
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
// stream of hints is told the end of an ask whose state it was told, and for which nodes asks are nominated (RMI-89).
type waitingStates struct {
	mu    sync.Mutex
	byAsk map[partitionKey]scheduler.WaitingAsk
	order []partitionKey // by which they are sent; may have asks that are not in byAsk
	wake  chan struct{}  // holds a value while byAsk may have states
	any   atomic.Bool    // effects may end a state; changed under mu, read without it for each delivery

	// The following are for a stream of hints; nil for a linked shim.

	told    map[partitionKey]toldState // what next has returned last, unless it was the end
	ended   map[partitionKey]struct{}  // asks that have ended since the stream began; nil: its initial states are there
	initial map[partitionKey]struct{}  // initial states that next has not returned
	// nominated has the nodes of nominated asks. Until the initial states are there, it has an empty one for an ask
	// whose nomination has ended since the stream began.
	nominated map[partitionKey]objects.NodeID
}

// toldState is the state of an ask with which it is sent again when its nomination changes.
type toldState struct {
	state   objects.WaitingState
	blocked scheduler.PendingReason
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
	w.told, w.ended = map[partitionKey]toldState{}, map[partitionKey]struct{}{}
	w.nominated = map[partitionKey]objects.NodeID{}
	w.noteAny()
	return w
}

// onEffects takes the states in effects, and forgets those of asks that effects have ended.
func (w *waitingStates) onEffects(partition string, effects []scheduler.Effect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.noteAny()
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.AsksWait:
			for _, state := range e.Asks {
				w.add(partitionKey{partition, state.Ask.Key}, state)
			}
		case scheduler.Event:
			if w.nominated != nil {
				w.onEvent(partitionKey{partition, e.Subject.Key}, e)
			}
		default:
			if w.mayEnd() {
				w.forget(partition, e)
			}
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

// addInitial adds states from a snapshot that was made after the stream began. Effects that were delivered since are
// later, or come again.
func (w *waitingStates) addInitial(states []hints.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.noteAny()
	for _, state := range states {
		ask := partitionKey{state.Partition, state.Ask.Key}
		if _, ended := w.ended[ask]; ended {
			continue
		}
		if _, later := w.nominated[ask]; !later && state.Nominated != "" {
			w.nominated[ask] = state.Nominated
		}
		// a nomination that was delivered does not say which state the ask has
		stateKnown := w.byAsk[ask].State != objects.WaitUnreported
		if !stateKnown && (state.State != objects.WaitUnreported || w.nominated[ask] != "") {
			w.add(ask, state.WaitingAsk)
		}
	}
}

// endInitial is called after the states of all partitions were added.
func (w *waitingStates) endInitial() {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.noteAny()
	maps.DeleteFunc(w.nominated, func(_ partitionKey, node objects.NodeID) bool { return node == "" })
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
	w.drop(ask)
	delete(w.nominated, ask)
	if w.ended != nil {
		w.ended[ask] = struct{}{}
	}
	if _, told := w.told[ask]; told {
		w.add(ask, scheduler.WaitingAsk{Ask: &objects.Ask{Key: ask.key, App: app}, State: objects.WaitUnreported})
	}
}

// drop removes the state of an ask that next has not returned.
func (w *waitingStates) drop(ask partitionKey) {
	delete(w.byAsk, ask)
	delete(w.initial, ask)
	if len(w.byAsk) == 0 {
		w.order = nil
	}
}

// onEvent takes the begin and the end of a nomination of an ask.
func (w *waitingStates) onEvent(ask partitionKey, e scheduler.Event) {
	switch e.Kind {
	case scheduler.EventNominated:
		w.nominate(ask, e.Subject.App, e.Node)
	case scheduler.EventNominationEnded:
		w.nominate(ask, e.Subject.App, "")
	}
}

// nominate has an ask sent again with the node for which it is nominated, which is empty when it no longer is.
func (w *waitingStates) nominate(ask partitionKey, app objects.AppID, node objects.NodeID) {
	before := w.nominated[ask]
	if node != "" || w.ended != nil {
		w.nominated[ask] = node
	} else {
		delete(w.nominated, ask)
	}
	told, known := w.told[ask]
	state, waits := w.byAsk[ask]
	switch {
	case node == before: // such as the end of an ask that was placed, which is told already
	case !waits && (node != "" || known):
		w.add(ask, scheduler.WaitingAsk{Ask: &objects.Ask{Key: ask.key, App: app}, State: told.state, Blocked: told.blocked})
	case waits && node == "" && !known && state.State == objects.WaitUnreported:
		w.drop(ask) // it has nothing to say any more
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
		state.Partition, state.Nominated = ask.partition, w.nominated[ask]
		state.WaitingAsk, ok = w.byAsk[ask]
		delete(w.byAsk, ask)
		if ok {
			w.noteTold(ask, state)
		}
	}
	return state, ok
}

// noteTold records that next returns a state.
func (w *waitingStates) noteTold(ask partitionKey, state hints.Change) {
	delete(w.initial, ask)
	switch {
	case w.told == nil:
	case state.State == objects.WaitUnreported && state.Nominated == "":
		delete(w.told, ask)
	default:
		w.told[ask] = toldState{state.State, state.Blocked}
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
