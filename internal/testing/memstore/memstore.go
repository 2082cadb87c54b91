// Package memstore is a store of an election in memory, which tests control. Only tests import it.
//
// It owns keys, leases and watches as etcd has them. It has no clock: a lease ends when Expire is called. It leaves
// when that happens to the test.
//
// Invariant: the key is there as long as its lease, and its epoch rises.
package memstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
)

// ErrUnreachable is the error of every call while the store is not reached.
var ErrUnreachable = errors.New("the store is not reached")

// Store is a store in memory. The zero value is empty. It is safe for concurrent use.
type Store struct {
	mu          sync.Mutex
	unreachable bool
	revision    int64
	lastLease   election.LeaseID
	leases      map[election.LeaseID]time.Duration // to their times to live
	lease       election.LeaseID                   // of the key
	leader      election.Leader
	epoch       int64 // 0: there is no key
	changed     int64
	signal      chan struct{} // closed at each change; nil: none is waited for
}

// SetReachable says whether calls succeed from now on; those that wait go on.
func (s *Store) SetReachable(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreachable = !is
}

// Expire ends the lease of the leader, as when it was not renewed.
func (s *Store) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoke(s.lease)
}

// Do implements election.Store.
func (s *Store) Do(ctx context.Context, r election.Request) election.Answer {
	if r.Op == election.Watch {
		return election.Answer{Err: s.wait(ctx, r.Revision)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return election.Answer{Err: ctx.Err()}
	case s.unreachable:
		return election.Answer{Err: ErrUnreachable}
	}
	switch r.Op {
	case election.Read:
		return election.Answer{Found: s.epoch != 0, Leader: s.leader, Epoch: s.epoch, Revision: s.revision}
	case election.Grant:
		s.lastLease++
		if s.leases == nil {
			s.leases = map[election.LeaseID]time.Duration{}
		}
		s.leases[s.lastLease] = r.TTL
		return election.Answer{Lease: s.lastLease, TTL: r.TTL}
	case election.Revoke:
		s.revoke(r.Lease)
		return election.Answer{}
	}
	switch {
	case s.leases[r.Lease] == 0:
		return election.Answer{Err: election.ErrLeaseLost}
	case r.Op == election.Renew:
		return election.Answer{TTL: s.leases[r.Lease]}
	case s.epoch != 0:
		return election.Answer{Found: true}
	}
	s.change()
	s.lease, s.leader, s.epoch = r.Lease, r.Leader, s.revision
	return election.Answer{Epoch: s.epoch}
}

// revoke ends a lease, and with it the key.
func (s *Store) revoke(id election.LeaseID) {
	if s.leases[id] == 0 {
		return
	}
	delete(s.leases, id)
	if s.lease == id {
		s.lease, s.leader, s.epoch = 0, election.Leader{}, 0
		s.change()
	}
}

func (s *Store) change() {
	s.revision++
	s.changed = s.revision
	if s.signal != nil {
		close(s.signal)
		s.signal = nil
	}
}

// wait waits for a change after a revision.
func (s *Store) wait(ctx context.Context, after int64) error {
	for {
		s.mu.Lock()
		if s.changed > after {
			s.mu.Unlock()
			return nil
		}
		if s.signal == nil {
			s.signal = make(chan struct{})
		}
		signal := s.signal
		s.mu.Unlock()
		select {
		case <-signal:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
