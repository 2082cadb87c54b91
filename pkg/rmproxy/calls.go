package rmproxy

import (
	"context"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// caller tells a session's effects by calling the shim. Only whoever has put a token into
// Proxy.calling may use it; who comes first is first, so no partition keeps others out.
type caller struct {
	callback api.ResourceManagerCallback
	batch    []saying // room for the effects of one message
}

// newCalled returns the session of an in-process door. Its first call waits for the last
// of the session before, because all calls are made with one token.
func newCalled(p *Proxy, rm string, callback api.ResourceManagerCallback) *session {
	s := &session{
		p: p, rm: rm, log: p.log.With(zap.String("rm", rm)), borrows: true,
		caller: &caller{callback: callback},
	}
	s.over, s.end = context.WithCancelCause(context.Background())
	box := newOutbox()
	for k := range s.boxes {
		s.boxes[k] = box
	}
	p.running.Go(func() { s.answer(box) })
	return s
}

// answer tells what the door itself has to say. The goroutine that made it say so cannot:
// it belongs to the shim, which may hold a lock that its callback takes.
func (s *session) answer(box *outbox) {
	for !s.ended() {
		select {
		case <-box.bell:
			s.call(theDoor, nil)
		case <-s.over.Done():
		}
	}
}

// call tells effects of a partition on the goroutine that brings them. What the door has
// to answer comes first: it is about messages from before.
func (s *session) call(partition string, effects []scheduler.Effect) {
	s.p.calling <- struct{}{}
	defer func() { <-s.p.calling }()
	box := s.boxes[allocations]
	for !s.ended() {
		batch := box.take()
		if batch == nil {
			break
		}
		s.say(batch)
		box.done()
	}
	for len(effects) > 0 && !s.ended() {
		n := oneMessage(effects)
		batch := s.caller.batch[:0]
		for _, e := range effects[:n] {
			batch = append(batch, saying{partition, e})
		}
		s.say(batch)
		clear(batch)
		s.caller.batch, effects = batch, effects[n:]
	}
}

// oneMessage is how many effects from the front go into one message: those of one list.
func oneMessage(effects []scheduler.Effect) int {
	n := 1
	for n < min(len(effects), maxEntries) && listOf(effects[n]) == listOf(effects[0]) {
		n++
	}
	return n
}

// say makes one call.
func (s *session) say(batch []saying) {
	var err error
	switch m := s.message(batch).(type) {
	case *si.NodeResponse:
		err = s.caller.callback.UpdateNode(m)
	case *si.ApplicationResponse:
		err = s.caller.callback.UpdateApplication(m)
	case *si.AllocationResponse:
		err = s.caller.callback.UpdateAllocation(m)
	}
	if err != nil {
		// It was told; that the shim could make no use of it does not make it untrue.
		s.log.Error("the shim failed to take an answer", zap.Error(err))
	}
}
