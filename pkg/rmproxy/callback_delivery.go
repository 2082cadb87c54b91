package rmproxy

import (
	"context"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// shimCallback delivers the effects of a session by calls to the shim (RMI-61). The caller must
// hold the token Proxy.callbacks.
type shimCallback struct {
	callback api.ResourceManagerCallback
	buffer   []outboundEffect // buffer for the effects of one message
	refusals *refusals        // of nodes for asks
}

func newShimCallback(callback api.ResourceManagerCallback) *shimCallback {
	return &shimCallback{callback: callback, refusals: newRefusals()}
}

// newInProcessSession returns the session of the in-process API. Its first call to the shim waits
// for the last call of the previous session, because all calls need the same token.
func newInProcessSession(p *Proxy, rm string, callback api.ResourceManagerCallback) *session {
	s := &session{
		p: p, rm: rm, log: p.log.With(zap.String("rm", rm)), sharesMessages: true,
		shim: newShimCallback(callback),
	}
	states := newWaitingStates()
	s.waiting.Store(states)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	box := newOutbox()
	for k := range s.outboxes {
		s.outboxes[k] = box
	}
	p.goroutines.Go(func() { s.deliverReplies(box) })
	p.goroutines.Go(func() { s.sendWaitingStates(states) })
	if source := p.opt.Events; source != nil {
		next := source.NextID()
		p.goroutines.Go(func() { s.sendEvents(source, next) })
	}
	return s
}

// deliverReplies delivers the answers of the API itself (rejections that no partition has seen)
// (RMI-62). They are not delivered on the goroutine of the Update call: that is the shim's, which
// may hold a lock that its callback takes.
func (s *session) deliverReplies(box *outbox) {
	for !s.ended() {
		select {
		case <-box.wake:
			s.deliverByCallback(apiOrigin, nil)
		case <-s.ctx.Done():
		}
	}
}

// deliverByCallback delivers effects of a partition on the calling goroutine (RMI-33, RMI-61).
// Pending answers of the API itself come first: they are about earlier messages.
func (s *session) deliverByCallback(partition string, effects []scheduler.Effect) {
	s.p.callbacks.take()
	defer s.p.callbacks.release()
	s.deliverPendingReplies()
	for len(effects) > 0 && !s.ended() {
		n := countInMessage(effects)
		batch := s.shim.buffer[:0]
		for _, e := range effects[:n] {
			batch = append(batch, outboundEffect{partition, e})
		}
		s.callShim(batch)
		clear(batch)
		s.shim.buffer, effects = batch, effects[n:]
	}
}

// deliverPlacement is deliverByCallback for a single placement: with a linked shim nearly every delivery is one.
func (s *session) deliverPlacement(e scheduler.Allocated) {
	s.p.callbacks.take()
	defer s.p.callbacks.release()
	s.deliverPendingReplies()
	if s.ended() {
		return
	}
	s.noteCallback(s.shim.callback.UpdateAllocation(singleAllocationResponse(e)))
}

// deliverPendingReplies delivers the answers of the API itself. The caller must hold the token.
func (s *session) deliverPendingReplies() {
	for box := s.outboxes[allocationStream]; box.pending.Load() && !s.ended(); box.delivered() {
		batch := box.takeBatch()
		if batch == nil {
			return
		}
		s.callShim(batch)
	}
}

// countInMessage is the number of effects from the front that go into one message: those of one
// list.
func countInMessage(effects []scheduler.Effect) int {
	n := 1
	for n < min(len(effects), maxEntries) && listOf(effects[n]) == listOf(effects[0]) {
		n++
	}
	return n
}

// callShim makes one call to the shim (RMI-63, RMI-65).
func (s *session) callShim(batch []outboundEffect) {
	var err error
	switch m := s.message(batch).(type) {
	case *si.NodeResponse:
		err = s.shim.callback.UpdateNode(m)
	case *si.ApplicationResponse:
		err = s.shim.callback.UpdateApplication(m)
	case *si.AllocationResponse:
		err = s.shim.callback.UpdateAllocation(m)
	}
	s.noteCallback(err)
}

// noteCallback logs the error of a callback; nil: there is none. It does not undo the effect, which counts as
// delivered.
func (s *session) noteCallback(err error) {
	if err != nil {
		s.log.Error("the shim failed to process a response", zap.Error(err))
	}
}
