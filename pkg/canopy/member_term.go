package canopy

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
)

// memberTerm is a term of a Member: from the election until its Server has ended.
type memberTerm struct {
	*election.Term
	ctx    context.Context // ends with the term
	cancel context.CancelFunc
	done   chan struct{} // closed when all that the term began has ended

	server atomic.Pointer[Server] // nil: it does not run
	failed error                  // why it could not begin, or has failed; read after done is closed
	stuck  error                  // what has not ended; read after done is closed
}

// begin begins a term. Its Server starts while the campaign goes on: a start that hangs does not keep the lease from
// being given up.
func (m *Member) begin(elected *election.Term) *memberTerm {
	t := &memberTerm{Term: elected, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(m.ctx)
	m.current.Store(t)
	go func() {
		defer close(t.done)
		defer t.cancel()
		m.live(t)
	}()
	return t
}

// live runs the Server of a term until the term ends.
func (m *Member) live(t *memberTerm) {
	all := map[*handover]*receiver{}
	ports := m.receivers(func(h *handover) *receiver {
		all[h] = newReceiver(h.on.Addr(), func() bool { return t.MaySend(m.now()) })
		return all[h]
	})
	server, err := start(t.ctx, m.opt, &serverTerm{t.Term, ports, m.security, m.stores, m.ha.Etcd.TTL / 3})
	if err != nil {
		if t.ctx.Err() == nil {
			t.failed = err
		}
		return
	}
	t.server.Store(server)
	if t.ctx.Err() == nil {
		for h, r := range all {
			h.to(r)
		}
		m.log.Info("this member serves as leader", zap.Int64("epoch", t.Epoch()))
	}
	select {
	case <-t.ctx.Done():
	case <-server.Done():
		t.failed = server.Err()
	}
	for h := range all {
		h.to(nil) // before the Server ends, which takes a while: clients find the standby at once
	}
	t.stuck = server.Close()
	t.server.Store(nil)
}

// afterTerm is called when all of a term has ended. It returns when the member may lead again; nil: now.
func (m *Member) afterTerm(t *memberTerm) (resume <-chan time.Time) {
	m.current.Store(nil)
	if t.stuck != nil {
		m.closing.mu.Lock()
		m.closing.err = errors.Join(m.closing.err, t.stuck)
		m.closing.mu.Unlock()
		m.stopped(t.stuck) // another term beside what is left of this one would share its files
	}
	if t.failed == nil {
		m.campaign.Resume()
		return nil
	}
	m.campaign.Resign() // another member may be able to
	m.log.Error("the term of this member could not go on: another member may lead", zap.Int64("epoch", t.Epoch()),
		zap.Error(t.failed))
	return time.After(m.ha.Etcd.TTL)
}

// server is the Server of the term under way; nil: the member does not lead, or not yet.
func (m *Member) server() *Server {
	if t := m.current.Load(); t != nil {
		return t.server.Load()
	}
	return nil
}
