package rmproxy

import (
	"context"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// shimCallback tells a session's effects by calling the shim. Only whoever has put a token into
// Proxy.callbackToken may use it; who comes first is first, so no partition keeps others out.
type shimCallback struct {
	callback api.ResourceManagerCallback
	buffer   []outboundEffect // room for the effects of one message
}

// newInProcessSession returns the session of an in-process door. Its first call waits for the last
// of the session before, because all calls are made with one token.
func newInProcessSession(p *Proxy, rm string, callback api.ResourceManagerCallback) *session {
	s := &session{
		p: p, rm: rm, log: p.log.With(zap.String("rm", rm)), sharesMessages: true,
		shim: &shimCallback{callback: callback},
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	box := newOutbox()
	for k := range s.outboxes {
		s.outboxes[k] = box
	}
	p.goroutines.Go(func() { s.deliverReplies(box) })
	return s
}

// deliverReplies tells what the door itself has to say. The goroutine that made it say so cannot:
// it belongs to the shim, which may hold a lock that its callback takes.
func (s *session) deliverReplies(box *outbox) {
	for !s.ended() {
		select {
		case <-box.wake:
			s.deliverByCallback(apiOrigin, nil)
		case <-s.ctx.Done():
		}
	}
}

// deliverByCallback tells effects of a partition on the goroutine that brings them. What the door has
// to answer comes first: it is about messages from before.
func (s *session) deliverByCallback(partition string, effects []scheduler.Effect) {
	s.p.callbackToken <- struct{}{}
	defer func() { <-s.p.callbackToken }()
	box := s.outboxes[allocationStream]
	for !s.ended() {
		batch := box.takeBatch()
		if batch == nil {
			break
		}
		s.callShim(batch)
		box.delivered()
	}
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

// countInMessage is how many effects from the front go into one message: those of one list.
func countInMessage(effects []scheduler.Effect) int {
	n := 1
	for n < min(len(effects), maxEntries) && listOf(effects[n]) == listOf(effects[0]) {
		n++
	}
	return n
}

// callShim makes one call.
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
	if err != nil {
		// It was told; that the shim could make no use of it does not make it untrue.
		s.log.Error("the shim failed to process a response", zap.Error(err))
	}
}
