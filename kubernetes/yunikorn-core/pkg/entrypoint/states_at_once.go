package entrypoint

import (
	"sync"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// statesAtOnce hands several waiting states to the shim at the same time. The shim reads and writes the pod for each,
// and an autoscaler waits until pods have been said to be unschedulable.
type statesAtOnce struct {
	api.ResourceManagerCallback
	shim  api.ResourceManagerCallback // itself, for what only some shims have
	slots chan struct{}               // has a value for each call under way
	mu    sync.Mutex
	asks  map[string]chan struct{} // closed when the call about the ask has ended
}

// maxStatesAtOnce bounds the calls. With more the API server would keep bindings waiting.
const maxStatesAtOnce = 8

// newStatesAtOnce returns a callback for a shim, whose calls go to callback.
func newStatesAtOnce(shim, callback api.ResourceManagerCallback) *statesAtOnce {
	return &statesAtOnce{ResourceManagerCallback: callback, shim: shim, slots: make(chan struct{}, maxStatesAtOnce),
		asks: map[string]chan struct{}{}}
}

// UpdateContainerSchedulingState returns when the call has begun. The states of an ask come one after the other.
// Canopy calls it from one goroutine.
func (s *statesAtOnce) UpdateContainerSchedulingState(request *si.UpdateContainerSchedulingStateRequest) {
	s.mu.Lock()
	last := s.asks[request.AllocationKey]
	s.mu.Unlock()
	if last != nil {
		<-last
	}
	s.slots <- struct{}{}
	ended := make(chan struct{})
	s.mu.Lock()
	s.asks[request.AllocationKey] = ended
	s.mu.Unlock()
	go func() {
		defer func() {
			s.mu.Lock()
			delete(s.asks, request.AllocationKey)
			s.mu.Unlock()
			close(ended)
			<-s.slots
		}()
		s.ResourceManagerCallback.UpdateContainerSchedulingState(request)
	}()
}

// GetStateDump returns the state that the shim describes; empty: it describes none.
func (s *statesAtOnce) GetStateDump() (string, error) {
	if shim, ok := s.shim.(api.StateDumpPlugin); ok {
		return shim.GetStateDump()
	}
	return "", nil
}
