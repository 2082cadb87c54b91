package hints

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Bounds of one response: a client with the default limits of gRPC receives 4 MiB at most.
const (
	maxStates = 512
	maxBytes  = 1 << 20
)

// sender sends the responses of one stream. It runs on one goroutine.
type sender struct {
	stream    grpc.ServerStreamingServer[canopyv1.WaitingStatesResponse]
	watch     Watch
	explainer *explainer

	initialSent bool // a response had initial_complete
	response    *canopyv1.WaitingStatesResponse
	bytes       int // of response, about
}

// run sends states and explanations until ctx ends.
func (s *sender) run(ctx context.Context) error {
	s.response = &canopyv1.WaitingStatesResponse{}
	for {
		if err := s.sendStates(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.watch.Changed():
		case <-s.explainer.startRounds(ctx):
		case r := <-s.explainer.results:
			if err := s.sendExplanations(r); err != nil {
				return err
			}
		}
	}
}

// sendStates sends the states that are not sent yet.
func (s *sender) sendStates() error {
	for c, ok := s.watch.Next(); ok; c, ok = s.watch.Next() {
		s.explainer.note(c)
		if err := s.add(stateOf(c)); err != nil {
			return err
		}
		if err := s.markInitial(); err != nil {
			return err
		}
	}
	if err := s.markInitial(); err != nil { // without a state, too
		return err
	}
	return s.flush()
}

// markInitial sends what has been added if it has the last of the initial states.
func (s *sender) markInitial() error {
	if s.initialSent || !s.watch.InitialComplete() {
		return nil
	}
	s.initialSent, s.response.InitialComplete = true, true
	return s.flush()
}

func (s *sender) sendExplanations(r result) error {
	if r.err != nil {
		return r.err
	}
	for _, m := range s.explainer.take(r) {
		if err := s.add(m); err != nil {
			return err
		}
	}
	return s.flush()
}

// add adds a state to the next response, and sends the former ones if they would be too much together.
func (s *sender) add(m *canopyv1.WaitingState) error {
	size := proto.Size(m)
	if len(s.response.WaitingStates) == maxStates || s.bytes+size > maxBytes {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.response.WaitingStates = append(s.response.WaitingStates, m)
	s.bytes += size
	return nil
}

// flush sends the response if it says anything.
func (s *sender) flush() error {
	if len(s.response.WaitingStates) == 0 && !s.response.InitialComplete {
		return nil
	}
	m := s.response
	s.response, s.bytes = &canopyv1.WaitingStatesResponse{}, 0
	return s.watch.Send(func() error { return s.stream.Send(m) })
}

// stateOf is a state as it is sent before the ask is explained.
func stateOf(c Change) *canopyv1.WaitingState {
	m := &canopyv1.WaitingState{Partition: c.Partition, ApplicationId: string(c.Ask.App),
		AllocationKey: string(c.Ask.Key), State: canopyv1.WaitingState_STATE_NONE, NominatedNode: string(c.Nominated)}
	switch c.State {
	case objects.WaitFailed:
		m.State = canopyv1.WaitingState_STATE_FAILED
	case objects.WaitSkipped:
		m.State, m.Reason = canopyv1.WaitingState_STATE_SKIPPED, c.Blocked.Code()
	}
	return m
}
