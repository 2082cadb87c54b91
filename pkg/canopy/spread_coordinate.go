package canopy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/configwatch"
	"github.com/canopy-scheduler/canopy/internal/election"
	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/internal/spread"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// coordinate coordinates the group while this member is elected for that, until Close.
func (m *SpreadMember) coordinate() {
	m.election.Resume()
	for {
		term := m.election.Status().Term
		if term == nil {
			select {
			case <-m.election.Changed():
				continue
			case <-m.ctx.Done():
				return
			}
		}
		err := m.coordinateTerm(term)
		if m.ctx.Err() != nil {
			return
		}
		m.election.Resign()
		if err != nil {
			m.log.Error("this member cannot coordinate the group: another member may", zap.Int64("epoch", term.Epoch()), zap.Error(err))
			if !m.wait(m.ha.Etcd.TTL) {
				return
			}
		}
		m.election.Resume()
	}
}

// coordinateTerm coordinates the group until the term has ended; the error says why it ended before.
func (m *SpreadMember) coordinateTerm(term *election.Term) error {
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	store, err := m.configs.configs(ctx, term.Epoch())
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // it ends calls that wait
	first, err := m.opt.readConfig()
	if err != nil {
		return err
	}
	inForce, err := store.Latest(m.opt.bounds())
	if inForce == nil || err != nil {
		inForce = first // there is none, or none that this version of the program can read: there is nothing to keep
	}
	reloads := reload.New(&groupCluster{}, inForce, reload.Options{
		Now: m.opt.Now, Log: m.log, Bounds: m.opt.bounds(), MaxGenerations: m.opt.ConfigHistory, Store: store, StoredState: store.StoredState(),
	})
	if c := reloads.Counts(); !c.Stored {
		return fmt.Errorf("generation %d: %w", c.Generation, ErrNotStored)
	}
	m.log.Info("this member coordinates the group", zap.Int64("epoch", term.Epoch()), zap.Uint64("generation", reloads.Current().Number))
	propose := func(ctx context.Context, text string) error { return m.propose(ctx, term.Epoch(), text) }
	c := &coordination{reloads: reloads, propose: propose, failed: make(chan error, 1)}
	m.setCoordination(c)
	defer m.setCoordination(nil)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		if _, err := c.accept(ctx, first.Source, first.From, []byte(first.Text)); !errors.Is(err, ErrNotStored) {
			m.watchFile(ctx, c, first, err)
		}
	}()
	defer func() { cancel(); <-watching }()
	return m.assignments(ctx, term, c)
}

// coordination is what a term of the coordinator has.
type coordination struct {
	reloads   *reload.Reloader
	propose   func(ctx context.Context, text string) error // asks the members, in the epoch of the term
	accepting sync.Mutex
	failed    chan error // has a value when the term cannot go on
}

// watchFile makes a change of ConfigFile a generation of the group. known was read last, and the error is that of accept.
func (m *SpreadMember) watchFile(ctx context.Context, c *coordination, known *reload.Proposal, err error) {
	text := []byte(known.Text)
	if errors.Is(err, ErrBusy) {
		text = []byte(c.reloads.Current().Text) // what is in the file is tried again
	}
	file := m.opt.ConfigFile
	if file == "" || m.opt.ConfigNotWatched {
		return
	}
	opt := configwatch.Options{MaxBytes: c.reloads.MaxBytes(), Log: m.log}
	configwatch.Watch(ctx, file, text, opt, func(text []byte) (handled bool) {
		_, err := c.accept(ctx, reload.File, file, text)
		return !errors.Is(err, ErrNotStored) && !errors.Is(err, ErrBusy)
	})
}

// accept makes a text a generation of the group, if no partition objects. The Reloader logs the result. A generation that is not stored is in force nowhere, although
// the Reloader has it: the term ends.
func (c *coordination) accept(ctx context.Context, source reload.Source, from string, text []byte) (*reload.Generation, error) {
	c.accepting.Lock()
	defer c.accepting.Unlock()
	p, err := c.reloads.Read(source, from, text)
	if err != nil {
		return c.reloads.Current(), configError(from, err)
	}
	if p.Config.Checksum != c.reloads.Current().Checksum {
		if err := c.propose(ctx, p.Text); err != nil {
			c.reloads.LogRefusal(source, from, err)
			return c.reloads.Current(), err
		}
	}
	res, err := c.reloads.Apply(ctx, p)
	if err != nil {
		return c.reloads.Current(), err
	}
	if res.StoreError != nil {
		err = fmt.Errorf("%w: %w", ErrNotStored, res.StoreError)
		select {
		case c.failed <- err:
		default: // another one has failed before
		}
	}
	return res.Generation, err
}

// ReloadFile reads Options.ConfigFile again, if this member coordinates the group, and makes its text a generation of the group. Otherwise it
// is ErrStandby: the coordinator reads its own file. Errors are those of Server.ReloadFile; after ErrNotStored the configuration is in force nowhere.
func (m *SpreadMember) ReloadFile(ctx context.Context) (Generation, error) {
	m.mu.Lock()
	c := m.coordination
	m.mu.Unlock()
	switch {
	case m.opt.ConfigFile == "":
		return Generation{}, ErrNoConfigFile
	case c == nil:
		return Generation{}, ErrStandby
	}
	text, err := configwatch.Read(m.opt.ConfigFile, m.opt.bounds().MaxBytes)
	if err != nil {
		c.reloads.LogRefusal(reload.Signal, m.opt.ConfigFile, err)
		return generationOf(c.reloads.Current()), err
	}
	g, err := c.accept(ctx, reload.Signal, m.opt.ConfigFile, text)
	return generationOf(g), err
}

func (m *SpreadMember) setCoordination(c *coordination) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.coordination = c
}

// assignments assigns partitions to members until the term has ended.
func (m *SpreadMember) assignments(ctx context.Context, term *election.Term, c *coordination) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	moved := time.Time{} // when a partition was moved last to balance members
	for {
		now := time.Now()
		settled := m.begun.Add(m.settle)
		switch {
		case now.Before(settled):
			timer.Reset(settled.Sub(now))
		default:
			mayMove := now.Sub(moved) >= m.ha.MoveInterval
			did, err := m.assign(ctx, term, c.reloads, mayMove)
			if err != nil && ctx.Err() == nil && m.election.Status().Term == term {
				return fmt.Errorf("the assignment of partitions: %w", err)
			}
			if did {
				moved = now
			}
			timer.Reset(m.ha.MoveInterval)
		}
		select {
		case <-m.changed:
		case <-timer.C:
		case <-m.election.Changed():
		case err := <-c.failed:
			return err
		case <-ctx.Done():
			return nil
		}
		if m.election.Status().Term != term {
			return nil
		}
	}
}

// assign assigns partitions once, and reports whether one was moved from a member that lives.
func (m *SpreadMember) assign(ctx context.Context, term *election.Term, reloads *reload.Reloader, mayMove bool) (moved bool, err error) {
	m.mu.Lock()
	state, partitions := m.state, m.partitions
	m.mu.Unlock()
	if state.Revision == 0 || m.generation() != reloads.Current().Number {
		return false, nil // what this member knows is behind what it has stored
	}
	opt := spread.Options{}
	if !mayMove {
		opt.Gain = math.MaxFloat64 // no move gains as much
	}
	next, changed := spread.Next(state.Assignment, partitions, state.Members, opt)
	if !changed {
		return false, nil
	}
	living := map[string]bool{}
	for _, x := range state.Members {
		living[x.Name] = true
	}
	for _, partition := range slices.Sorted(maps.Keys(next.Members)) {
		to := next.Members[partition]
		switch from := state.Assignment.Members[partition]; {
		case from == to:
		case living[from]:
			moved = true
			m.log.Info("a partition moves to another member", zap.String("partition", partition), zap.String("from", from), zap.String("to", to))
		default:
			m.log.Info("a partition is assigned to a member", zap.String("partition", partition), zap.String("member", to))
		}
	}
	callCtx, cancel := context.WithTimeout(ctx, m.ha.Etcd.TTL/3)
	defer cancel()
	switch err = m.members.Assign(callCtx, term.Epoch(), next); {
	case errors.Is(err, spread.ErrStale): // the state that was stored last is on its way
		return false, nil
	case err != nil:
		return false, err
	}
	return moved, nil
}

// groupCluster is what the configurations of the coordinator are put in force in: nothing. The leaders of partitions follow what is stored.
type groupCluster struct{ conf *configs.Config }

// Config is part of reload.Cluster.
func (g *groupCluster) Config() *configs.Config { return g.conf }

// Reload is part of reload.Cluster.
func (g *groupCluster) Reload(_ context.Context, conf *configs.Config) (time.Duration, error) {
	g.conf = conf
	return 0, nil
}
