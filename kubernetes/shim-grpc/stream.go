package main

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// stream is a stream of the interface. It keeps what is to be sent, so that the session never waits for the scheduler:
// it would not read answers meanwhile, and a scheduler does not read from a stream whose answers are not read.
type stream[Q, A any] struct {
	mu      sync.Mutex
	waiting []*Q
	added   chan struct{}
	answers chan *A
}

func newStream[Q, A any]() *stream[Q, A] {
	return &stream[Q, A]{added: make(chan struct{}, 1), answers: make(chan *A)}
}

// put sends a message after those that were put before.
func (s *stream[Q, A]) put(message *Q) {
	s.mu.Lock()
	s.waiting = append(s.waiting, message)
	s.mu.Unlock()
	makeReady(s.added)
}

// run sends and receives until the stream or ctx ends, which ends the group. opened is the result of its opening.
func (s *stream[Q, A]) run(ctx context.Context, group *errgroup.Group, name string,
	opened grpc.BidiStreamingClient[Q, A], err error) {
	for _, work := range []func(context.Context, grpc.BidiStreamingClient[Q, A]) error{s.send, s.receive} {
		group.Go(func() error {
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return fmt.Errorf("%s: %w", name, work(ctx, opened))
		})
	}
}

func (s *stream[Q, A]) send(ctx context.Context, to grpc.BidiStreamingClient[Q, A]) error {
	for {
		s.mu.Lock()
		messages := s.waiting
		s.waiting = nil
		s.mu.Unlock()
		for _, m := range messages {
			if to.Send(m) != nil {
				<-ctx.Done() // the error that says why is that of receive
				return ctx.Err()
			}
		}
		select {
		case <-s.added:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *stream[Q, A]) receive(ctx context.Context, from grpc.BidiStreamingClient[Q, A]) error {
	for {
		m, err := from.Recv()
		if err != nil {
			return err
		}
		select {
		case s.answers <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
