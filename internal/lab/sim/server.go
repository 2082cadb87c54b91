package sim

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// ServerOptions configure a Server. The zero value is valid.
type ServerOptions struct {
	Loop   loop.Options
	Config *reload.Proposal // overrides the configuration of the client; nil: that of the client is in force

	// OnEffects is called with the effects of each partition, in order, before they are delivered; nil: it is not.
	OnEffects func(partition string, effects []scheduler.Effect)
}

// Server serves a scheduler of this process over gRPC on a loopback address: without REST, history and
// metrics, and with access to the state of the partitions.
type Server struct {
	engine  *engine.Engine
	proxy   *rmproxy.Proxy
	grpc    *grpc.Server
	address string
	ended   chan error
}

// Serve starts a scheduler and serves it.
func Serve(ctx context.Context, opt ServerOptions) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on the loopback address: %w", err)
	}
	e := engine.New(engine.Options{Loop: opt.Loop, OnEffects: opt.OnEffects})
	proxy := rmproxy.New(e, rmproxy.Options{IgnoreRMConfig: opt.Config != nil})
	e.Start(opt.Config)
	s := &Server{engine: e, proxy: proxy, grpc: grpc.NewServer(proxy.ServerOptions()...),
		address: listener.Addr().String(),
		ended:   make(chan error, 1)}
	proxy.Register(s.grpc)
	go func() { s.ended <- s.grpc.Serve(listener) }()
	return s, nil
}

// Address returns HOST:PORT of the server.
func (s *Server) Address() string { return s.address }

// Snapshot returns the state of the partition of the client.
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

// Cluster returns the partitions.
func (s *Server) Cluster() *loop.Cluster { return s.engine.Cluster() }

// Audit checks an idle scheduler: by its own audit, by demo.CheckIdle, and against the state of the client.
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
	if err := demo.CheckIdle(snap); err != nil {
		return err
	}
	return c.CompareSnapshot(snap)
}

func (s *Server) partition() (*loop.Loop, error) {
	l, ok := s.engine.Cluster().Partition(Partition)
	if !ok {
		return nil, fmt.Errorf("the configuration has no partition %s", Partition)
	}
	return l, nil
}

// Close stops serving and ends the scheduler.
func (s *Server) Close() error {
	s.grpc.Stop()
	s.proxy.Close()
	s.engine.End()
	if err := <-s.ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serving on %s: %w", s.address, err)
	}
	return nil
}
