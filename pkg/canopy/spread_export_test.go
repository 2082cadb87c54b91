package canopy

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/election"
	"github.com/canopy-scheduler/canopy/internal/election/memstore"
	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/internal/spread"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// SpreadStores is what the members of a group share, in memory.
type SpreadStores struct {
	Coordinators memstore.Store
	OnGeneration func(uint64) // called with each generation that is stored

	mu      sync.Mutex
	leaders map[string]*memstore.Store
	history []*reload.Generation
	failing bool
}

// Leader is the store of the election of a partition.
func (s *SpreadStores) Leader(partition string) *memstore.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaders == nil {
		s.leaders = map[string]*memstore.Store{}
	}
	if s.leaders[partition] == nil {
		s.leaders[partition] = &memstore.Store{}
	}
	return s.leaders[partition]
}

// FailWrites says whether configurations are stored from now on.
func (s *SpreadStores) FailWrites(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = is
}

// Decide stores a text as the next generation, as a coordinator whose members had not objected.
func (s *SpreadStores) Decide(text string) error {
	p, err := reload.Read(reload.File, "test", []byte(text), queuesyaml.DefaultOptions())
	if err != nil {
		return err
	}
	number := s.Generation() + 1
	return (&memConfigs{of: s}).Add(&reload.Generation{Number: number, Source: reload.File, Text: p.Text, Checksum: p.Config.Checksum}, 0)
}

// Generation is the latest one; 0: none.
func (s *SpreadStores) Generation() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.history) == 0 {
		return 0
	}
	return s.history[len(s.history)-1].Number
}

func (s *SpreadStores) read(context.Context) (reload.StoredState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return reload.StoredState{Generations: slices.Clone(s.history)}, nil
}

// configs is groupStores.configs.
func (s *SpreadStores) configs(ctx context.Context, _ int64) (configStore, error) {
	state, err := s.read(ctx)
	return &memConfigs{s, state}, err
}

// operators is groupStores.operators: what operators have switched is lost with a term.
func (s *SpreadStores) operators(context.Context, int64) (operatorStore, error) {
	return nil, nil
}

type memConfigs struct {
	of    *SpreadStores
	state reload.StoredState
}

func (m *memConfigs) StoredState() reload.StoredState { return m.state }

func (m *memConfigs) Latest(bounds queuesyaml.Options) (*reload.Proposal, error) {
	return m.state.Latest("in memory", bounds)
}

func (m *memConfigs) Add(g *reload.Generation, _ uint64) error {
	m.of.mu.Lock()
	if m.of.failing {
		m.of.mu.Unlock()
		return errors.New("the store is full")
	}
	m.of.history = append(m.of.history, g)
	m.of.mu.Unlock()
	m.of.OnGeneration(g.Number)
	return nil
}

func (m *memConfigs) SaveChecksum(string, string) error { return nil }
func (m *memConfigs) Close() error                      { return nil }

// StartSpreadMemberAt starts a member with stores in memory and a clock.
func StartSpreadMemberAt(ctx context.Context, opt Options, ha HA, s *SpreadStores, members spread.Store, now func() election.Instant) (*SpreadMember, error) {
	return startSpreadMember(ctx, opt, ha, spreadParts{
		coordinators: &s.Coordinators, leaders: func(p string) election.Store { return s.Leader(p) }, members: members,
		configs: s, operators: func(string) groupStores { return nil }, history: s.read, closeStore: func() error { return nil }, now: now, settle: 200 * time.Millisecond,
	})
}
