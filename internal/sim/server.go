package sim

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// LocalScheduler is a scheduler in this process that Server serves over gRPC.
type LocalScheduler interface {
	Register(grpc.ServiceRegistrar)
	Cluster() *loop.Cluster
	Close()
}

// Server serves a scheduler of this process over gRPC on a loopback address.
type Server struct {
	local   LocalScheduler
	grpc    *grpc.Server
	address string
	ended   chan error
}

// Serve starts serving. The server closes d.
func Serve(ctx context.Context, d LocalScheduler) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("listening on the loopback address: %w", err)
	}
	s := &Server{local: d, grpc: grpc.NewServer(), address: listener.Addr().String(), ended: make(chan error, 1)}
	d.Register(s.grpc)
	go func() { s.ended <- s.grpc.Serve(listener) }()
	return s, nil
}

// Address is HOST:PORT of the server.
func (s *Server) Address() string { return s.address }

// Snapshot is the state of the partition of the client.
func (s *Server) Snapshot(ctx context.Context) (*scheduler.Snapshot, error) {
	l, err := s.partition()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	snap, err := l.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("waiting for a snapshot: %w", err)
	}
	return snap, nil
}

// Explain explains a key.
func (s *Server) Explain(ctx context.Context, key objects.AllocationKey) (*scheduler.Explanation, error) {
	l, err := s.partition()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	e, err := l.Explain(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("explaining %s: %w", key, err)
	}
	return e, nil
}

// Audit checks an idle scheduler: by its own audit, by Audit, and against the state of the client.
func (s *Server) Audit(ctx context.Context, c *Client) error {
	l, err := s.partition()
	if err != nil {
		return err
	}
	checking, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := l.Check(checking); err != nil {
		return fmt.Errorf("the accounting of the scheduler: %w", err)
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	if err := Audit(snap); err != nil {
		return err
	}
	return c.CompareSnapshot(snap)
}

func (s *Server) partition() (*loop.Loop, error) {
	l, ok := s.local.Cluster().Partition(Partition)
	if !ok {
		return nil, fmt.Errorf("the configuration has no partition %s", Partition)
	}
	return l, nil
}

// Close stops serving and ends the scheduler.
func (s *Server) Close() error {
	s.grpc.Stop()
	s.local.Close()
	if err := <-s.ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serving on %s: %w", s.address, err)
	}
	return nil
}
