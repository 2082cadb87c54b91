// Package memstore is what the members of a group share, in memory, which tests control. Only tests import it.
//
// It owns the members, the assignment and the number of the generation as internal/spread/etcd has them. It has no clock: a
// member that is not announced again stays known until Expire is called. It leaves when that happens, and which epoch the coordinator has, to
// the test.
//
// Invariant: an assignment is written only in the epoch of the coordinator, and its rounds follow each other.
package memstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/canopy-scheduler/canopy/internal/spread"
)

// ErrUnreachable is the error of every call while the store is not reached.
var ErrUnreachable = errors.New("the store is not reached")

// Group is what the members share. The zero value is empty. It is safe for concurrent use.
type Group struct {
	mu          sync.Mutex
	unreachable bool
	revision    int64
	epoch       int64 // 0: there is no coordinator
	members     map[string]announced
	assignment  spread.Assignment
	generation  uint64
	proposal    int64 // 0: none
	proposed    []byte
	signal      chan struct{} // closed at each change; nil: none is waited for
}

// announced is a member, and the process that has announced it.
type announced struct {
	member spread.Member
	by     *Store
}

// Store is the spread.Store of one process.
type Store struct {
	group *Group
	name  string // that is announced; empty: none
}

// Member returns the store of another process.
func (g *Group) Member() *Store { return &Store{group: g} }

// SetReachable says whether calls succeed from now on; those that wait go on.
func (g *Group) SetReachable(is bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unreachable = !is
}

// Elect makes another coordinator, and returns its epoch.
func (g *Group) Elect() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.revision++ // no change that Next waits for
	g.epoch = g.revision
	return g.epoch
}

// Expire makes a member unknown, as when it was not announced again.
func (g *Group) Expire(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.members[name]; ok {
		delete(g.members, name)
		g.change()
	}
}

// SetGeneration sets the number of the latest generation.
func (g *Group) SetGeneration(n uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.generation = n
	g.change()
}

// State is what the members share now.
func (g *Group) State() spread.State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state()
}

func (g *Group) state() spread.State {
	s := spread.State{Revision: max(g.revision, 1), Assignment: g.assignment.Clone(), Generation: g.generation, Proposal: g.proposal}
	for _, name := range slices.Sorted(maps.Keys(g.members)) {
		s.Members = append(s.Members, g.members[name].member.Clone())
	}
	return s
}

func (g *Group) change() {
	g.revision = max(g.revision, 1) + 1
	if g.signal != nil {
		close(g.signal)
		g.signal = nil
	}
}

// begin locks the group for a call. With an error it is not locked.
func (s *Store) begin(ctx context.Context) error {
	s.group.mu.Lock()
	var unreachable error
	if s.group.unreachable {
		unreachable = ErrUnreachable
	}
	err := cmp.Or(ctx.Err(), unreachable)
	if err != nil {
		s.group.mu.Unlock()
	}
	return err
}

// Next implements spread.Store.
func (s *Store) Next(ctx context.Context, after int64) (spread.State, error) {
	for {
		if err := s.begin(ctx); err != nil {
			return spread.State{}, err
		}
		g := s.group
		if after == 0 || g.revision > after {
			defer g.mu.Unlock()
			return g.state(), nil
		}
		if g.signal == nil {
			g.signal = make(chan struct{})
		}
		signal := g.signal
		g.mu.Unlock()
		select {
		case <-signal:
		case <-ctx.Done():
			return spread.State{}, ctx.Err()
		}
	}
}

// Announce implements spread.Store.
func (s *Store) Announce(ctx context.Context, m spread.Member) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	g := s.group
	defer g.mu.Unlock()
	if s.name != "" && s.name != m.Name {
		return fmt.Errorf("the member %q is announced, and cannot be announced as %q before it is withdrawn", s.name, m.Name)
	}
	s.name = m.Name
	before, known := g.members[m.Name]
	if known && before.by != s {
		return fmt.Errorf("%w: %s", spread.ErrNameTaken, m.Name)
	}
	if known && before.member.GRPC == m.GRPC && before.member.HTTP == m.HTTP && maps.Equal(before.member.Leads, m.Leads) &&
		slices.Equal(before.member.Refuses, m.Refuses) && before.member.Checked == m.Checked && maps.Equal(before.member.Objections, m.Objections) {
		return nil
	}
	if g.members == nil {
		g.members = map[string]announced{}
	}
	g.members[m.Name] = announced{m.Clone(), s}
	g.change()
	return nil
}

// Withdraw implements spread.Store.
func (s *Store) Withdraw(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	g := s.group
	defer g.mu.Unlock()
	s.name = ""
	before := len(g.members)
	maps.DeleteFunc(g.members, func(_ string, a announced) bool { return a.by == s })
	if len(g.members) != before {
		g.change()
	}
	return nil
}

// Assign implements spread.Store.
func (s *Store) Assign(ctx context.Context, epoch int64, a spread.Assignment) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	g := s.group
	defer g.mu.Unlock()
	switch {
	case epoch == 0 || epoch != g.epoch:
		return spread.ErrNotCoordinator
	case a.Round == g.assignment.Round && maps.Equal(a.Members, g.assignment.Members):
		return nil // it is stored already
	case a.Round != g.assignment.Round+1:
		return fmt.Errorf("%w: round %d does not follow round %d", spread.ErrStale, a.Round, g.assignment.Round)
	}
	g.assignment = a.Clone()
	g.change()
	return nil
}

// Propose implements spread.Store.
func (s *Store) Propose(ctx context.Context, epoch int64, text []byte) (int64, error) {
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	g := s.group
	defer g.mu.Unlock()
	if epoch == 0 || epoch != g.epoch {
		return 0, spread.ErrNotCoordinator
	}
	g.change()
	g.proposal, g.proposed = 0, slices.Clone(text)
	if len(text) > 0 {
		g.proposal = g.revision
	}
	return g.revision, nil
}

// Proposed implements spread.Store.
func (s *Store) Proposed(ctx context.Context, number int64) ([]byte, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	g := s.group
	defer g.mu.Unlock()
	if number == 0 || number != g.proposal {
		return nil, spread.ErrNoProposal
	}
	return slices.Clone(g.proposed), nil
}
