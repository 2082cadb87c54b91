package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

// shim counts messages and accepts everything at once. It is the same code in both arms, and its part
// of the measured time is a lock and an append.
type shim struct {
	mu       sync.Mutex // guards the rest
	nodes    int        // accepted
	apps     int        // accepted
	running  int        // recovered allocations that were accepted
	sentinel bool       // the last ask was rejected
	problems []string   // unexpected messages
	placed   []string   // allocation keys, in order
	want     int        // placements at which the clock stops

	expectsVictims bool                    // victims are expected, and confirmed at once
	victims        []*si.AllocationRelease // not confirmed yet
	victimCount    int                     // total
	victimsReady   chan struct{}           // holds one token when there are victims

	end     measure.Clocks // taken with the last placement
	changed chan struct{}  // holds one token after a message
	done    chan struct{}  // closed with the last placement
}

var _ api.ResourceManagerCallback = (*shim)(nil)

func newShim(want int) *shim {
	return &shim{
		want: want, placed: make([]string, 0, want),
		changed: make(chan struct{}, 1), done: make(chan struct{}), victimsReady: make(chan struct{}, 1),
	}
}

// await blocks until holds is true, there is a problem, or the limit is reached. what is part of the
// error.
func (s *shim) await(what string, limit time.Duration, holds func() bool) error {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		ok, trouble := holds(), s.problems
		s.mu.Unlock()
		switch {
		case len(trouble) > 0:
			return fmt.Errorf("waiting for %s: %s", what, trouble[0])
		case ok:
			return nil
		}
		select {
		case <-s.changed:
		case <-timeout.C:
			return fmt.Errorf("waiting for %s: nothing after %v", what, limit)
		}
	}
}

// notify adds a token, unless there is one.
func notify(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// addProblem records a problem.
func (s *shim) addProblem(trouble string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, trouble)
	notify(s.changed)
}

// expectVictims allows preemption from now on.
func (s *shim) expectVictims() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expectsVictims = true
}

// addVictim records a victim. The caller must hold the lock.
func (s *shim) addVictim(r *si.AllocationRelease) {
	s.victims = append(s.victims, &si.AllocationRelease{
		PartitionName: partition, ApplicationID: r.ApplicationID, AllocationKey: r.AllocationKey,
		TerminationType: si.TerminationType_PREEMPTED_BY_SCHEDULER,
	})
	s.victimCount++
	notify(s.victimsReady)
}

// takeVictims are the victims since the last call.
func (s *shim) takeVictims() []*si.AllocationRelease {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.victims
	s.victims = nil
	return all
}

// countVictims is the number of victims.
func (s *shim) countVictims() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.victimCount
}

// UpdateAllocation counts placements. The clock is read here and not by the waiting goroutine: its
// wake-up is not part of a decision.
func (s *shim) UpdateAllocation(m *si.AllocationResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range m.New {
		if strings.HasPrefix(a.AllocationKey, runningPrefix) { // the answer to a recovered allocation
			s.running++
			continue
		}
		s.placed = append(s.placed, a.AllocationKey)
		if len(s.placed) == s.want {
			s.end = measure.ReadClocks()
			close(s.done)
		}
	}
	for _, r := range m.RejectedAllocations {
		if r.AllocationKey == sentinelKey {
			s.sentinel = true
			continue
		}
		s.problems = append(s.problems, fmt.Sprintf("ask %s was refused: %s", r.AllocationKey, r.Reason))
	}
	for _, r := range m.Released {
		if s.expectsVictims && r.TerminationType == si.TerminationType_PREEMPTED_BY_SCHEDULER {
			s.addVictim(r)
			continue
		}
		s.problems = append(s.problems, fmt.Sprintf("allocation %s was released: %s", r.AllocationKey, r.Message))
	}
	if len(m.RejectedAllocations)+len(m.Released) > 0 {
		notify(s.changed)
	}
	return nil
}

// UpdateApplication counts applications.
func (s *shim) UpdateApplication(m *si.ApplicationResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps += len(m.Accepted)
	for _, r := range m.Rejected {
		s.problems = append(s.problems, fmt.Sprintf("application %s was refused: %s", r.ApplicationID, r.Reason))
	}
	notify(s.changed)
	return nil
}

// UpdateNode counts nodes.
func (s *shim) UpdateNode(m *si.NodeResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes += len(m.Accepted)
	for _, r := range m.Rejected {
		s.problems = append(s.problems, fmt.Sprintf("node %s was refused: %s", r.NodeID, r.Reason))
	}
	notify(s.changed)
	return nil
}

// Predicates accepts every placement.
func (*shim) Predicates(*si.PredicatesArgs) error { return nil }

// PreemptionPredicates accepts with the minimum of victims.
func (*shim) PreemptionPredicates(args *si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return &si.PreemptionPredicatesResponse{Success: true, Index: args.StartIndex}
}

// SendEvent drops events.
func (*shim) SendEvent([]*si.EventRecord) {}

// UpdateContainerSchedulingState does nothing.
func (*shim) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}
