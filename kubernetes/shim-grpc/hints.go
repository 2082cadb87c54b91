package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	v1 "k8s.io/api/core/v1"
)

// A pod gets another message after explainAgain at the earliest, unless its state changes. It keeps its condition for
// noneDelay after it waits no longer: mostly it was placed, and its binding replaces the condition.
const explainAgain, noneDelay = 5 * time.Minute, 2 * time.Second

// waitingReasons holds the reason of the condition of a pod that waits; it has none in another state.
var waitingReasons = map[canopyv1.WaitingState_State]string{
	canopyv1.WaitingState_STATE_FAILED:  v1.PodReasonUnschedulable,
	canopyv1.WaitingState_STATE_SKIPPED: reasonSkipped,
}

// waitingStates holds states that the numbered stream has sent.
type waitingStates struct {
	stream int
	*canopyv1.WaitingStatesResponse
}

// readWaitingStates passes waiting states to the loop until ctx ends. It opens a stream that has ended again, as the
// session does not depend on it. A scheduler without the service says so at once.
func (s *session) readWaitingStates(ctx context.Context) error {
	backoff := sessionBackoff
	for number := 1; ctx.Err() == nil; number++ {
		err := s.readStream(ctx, number)
		if status.Code(err) == codes.Unimplemented {
			s.withoutHints.Do(func() {
				slog.Warn("the scheduler does not say why pods wait: they get no condition Unschedulable", "error", err)
			})
			return nil
		}
		pause := backoff.Step()
		if ctx.Err() == nil {
			slog.Warn("the stream of waiting states has ended, another one is opened", "error", err, "after", pause)
		}
		sleep(ctx, pause)
	}
	return nil
}

func (s *session) readStream(ctx context.Context, number int) error {
	stream, err := s.hints.WaitingStates(ctx, &canopyv1.WaitingStatesRequest{RmId: s.rmID, Explain: true,
		Refresh: durationpb.New(explainAgain)})
	for err == nil {
		var m *canopyv1.WaitingStatesResponse
		if m, err = stream.Recv(); err == nil {
			select {
			case s.waiting <- waitingStates{number, m}:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
	}
	return err
}

// onWaitingStates takes waiting states. Those of an older stream that a newer one does not begin with are over.
func (s *session) onWaitingStates(ctx context.Context, m waitingStates) {
	for _, w := range m.WaitingStates {
		p := s.keys[w.AllocationKey]
		if p == nil || p.application != w.ApplicationId || p.state != asked {
			continue
		}
		p.stream, p.waiting = m.stream, condition{waitingReasons[w.State], w.Message, w.NominatedNode}
		if p.waiting == (condition{}) {
			s.doesNotWait(p)
			continue
		}
		s.touch(p)
		s.next(ctx, p)
	}
	if m.InitialComplete {
		for _, p := range s.pods {
			if p.waiting != (condition{}) && p.stream < m.stream {
				s.doesNotWait(p)
			}
		}
	}
}

// doesNotWait forgets why a pod waits; the condition goes later.
func (s *session) doesNotWait(p *pod) {
	p.waiting = condition{}
	s.queue.AddAfter(nameOf(p.object), noneDelay)
}
