package canopy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
)

const (
	// callTimeout bounds the time that Close waits for running calls and requests.
	callTimeout = 2 * time.Second
	// defaultCloseTimeout is for Options.CloseTimeout.
	defaultCloseTimeout = 10 * time.Second
)

// closing is the state of Close.
type closing struct {
	once sync.Once
	done chan struct{} // closed when everything has ended
	err  error         // of the store; read after done is closed

	mu    sync.Mutex
	steps []string // have begun and have not ended
}

// Close ends the Server (RMI-67): the listeners close, calls and requests under way get 2 s, and the
// partitions end when their effects are delivered, or dropped if the resource manager does not read. It
// returns when everything has ended, or after Options.CloseTimeout with an error that names what is
// stuck; that ends later, if it does. Further calls wait for the same. Callbacks of the resource manager
// must not call it: it waits for them.
func (s *Server) Close() error {
	s.closing.once.Do(func() { go s.closeAll() })
	return s.closing.wait("the scheduler", s.opt.CloseTimeout, s.Closing)
}

// Closing are the parts of the Server that Close waits for now, for a log line when it takes long.
func (s *Server) Closing() []string {
	s.closing.mu.Lock()
	defer s.closing.mu.Unlock()
	return slices.Clone(s.closing.steps)
}

// closeAll ends everything in the order in which parts depend on each other.
func (s *Server) closeAll() {
	defer close(s.closing.done)
	s.end.stopping.Store(true)
	s.cancel()
	s.stopped(nil)
	if s.term != nil { // what waits for etcd would keep the next term waiting
		s.closing.err = s.kept.close()
		if s.store != nil {
			s.closing.err = errors.Join(s.closing.err, s.store.Close())
		}
	}
	if s.grpcState != nil {
		s.grpcState.Shutdown()
	}
	s.history.Close() // ends the event streams, which clients may keep open for any time
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var ending sync.WaitGroup
	for name, web := range map[string]*httpserver.Server{"the HTTP server": s.http, "the admin server": s.admin} {
		if web != nil {
			ending.Go(func() { s.closing.step(name, func() { shutdownHTTP(ctx, web) }) })
		}
	}
	if s.grpc != nil {
		ending.Go(func() {
			// GracefulStop waits for all streams. The proxy ends those of the scheduler interface; others,
			// such as a watch of the health service, end with ctx.
			defer context.AfterFunc(ctx, s.grpc.Stop)()
			s.closing.step("the gRPC server", s.grpc.GracefulStop)
		})
	}
	// before the partitions end
	if s.stopUsage != nil {
		s.closing.step("the last sample of usage", s.stopUsage)
	}
	if s.kept.stop != nil {
		s.closing.step("the starts of what runs", s.kept.stop)
	}
	s.closing.step("the partitions and the streams of the resource manager", func() {
		s.proxy.Close()
		s.engine.End()
	})
	if s.recorded.store != nil {
		_ = s.recorded.store.Close() // only its lock is left
	}
	s.effectLog.Close() // after the last effect, and before the log
	ending.Wait()
	s.closing.step("the listeners, the watch of the configuration file and the totals of the day", s.serving.Wait)
	if s.store != nil && s.term == nil {
		// after everything that writes to it
		s.closing.step("the store of configurations", func() { s.closing.err = s.store.Close() })
	}
	if s.usage != nil {
		s.closing.step("the store of usage", func() { s.closing.err = errors.Join(s.closing.err, s.usage.Close()) })
	}
	s.closing.step("the user directories", s.users.Close)
	_ = s.page.Close() // it was only read
}

// wait waits until everything has ended, but not longer than timeout; 0: the default one. what
// and steps name what ends and what is stuck, for the error.
func (c *closing) wait(what string, timeout time.Duration, steps func() []string) error {
	timeout = cmp.Or(timeout, defaultCloseTimeout)
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case <-c.done:
		return c.err
	case <-late.C:
		return fmt.Errorf("%s has not ended within %v: %s", what, timeout, strings.Join(steps(), ", "))
	}
}

// step calls do, which may get stuck.
func (c *closing) step(name string, do func()) {
	c.mu.Lock()
	c.steps = append(c.steps, name)
	c.mu.Unlock()
	do()
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.steps, name); i >= 0 {
		c.steps = slices.Delete(c.steps, i, i+1)
	}
}

// shutdownHTTP waits until ctx ends for running requests, then closes their connections.
func shutdownHTTP(ctx context.Context, server *httpserver.Server) {
	if err := server.Shutdown(ctx); err != nil {
		_ = server.Close()
	}
}

// errClosed replaces the error of a call on a Server that is closing by ErrClosed.
func (s *Server) errClosed(err error) error {
	if err != nil && s.end.stopping.Load() && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return err
}
