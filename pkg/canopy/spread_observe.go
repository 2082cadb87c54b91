package canopy

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/spread"
)

// storeRetry is how long a member waits after an error of etcd.
const storeRetry = 500 * time.Millisecond

// observe follows what the group has in etcd, until Close.
func (m *SpreadMember) observe() {
	for {
		state, err := m.members.Next(m.ctx, m.revision())
		if err == nil && state.Generation > m.generation() {
			err = m.readConfig()
		}
		m.noteStore(err)
		if err == nil {
			m.apply(state)
			continue
		}
		if !m.wait(storeRetry) {
			return
		}
	}
}

// wait waits, and reports whether the member goes on.
func (m *SpreadMember) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-m.ctx.Done():
		return false
	}
}

// revision is that of the state that was read last.
func (m *SpreadMember) revision() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Revision
}

// generation is that of the configuration that this member follows; 0: none.
func (m *SpreadMember) generation() uint64 {
	state, _ := m.config.latest()
	if g := latestOf(state); g != nil {
		return g.Number
	}
	return 0
}

// readConfig reads the history of configurations, and which partitions there are. One that this version of the program cannot read is
// not followed.
func (m *SpreadMember) readConfig() error {
	state, err := m.history(m.ctx)
	if err != nil {
		return err
	}
	p, err := state.Latest(groupHistoryName, m.opt.bounds())
	if p == nil || err != nil {
		return err
	}
	names := make([]string, len(p.Config.Partitions))
	for i := range p.Config.Partitions {
		names[i] = p.Config.Partitions[i].Name
	}
	slices.Sort(names)
	m.mu.Lock()
	m.partitions = names
	m.mu.Unlock()
	m.config.set(state)
	m.log.Info("the configuration of the group has changed", zap.Uint64("generation", latestOf(state).Number), zap.Int("partitions", len(names)))
	return nil
}

// apply makes this member a candidate for what a state assigns to it, and only for that.
func (m *SpreadMember) apply(state spread.State) {
	m.update(func() {
		if !slices.Equal(state.Damaged, m.state.Damaged) {
			m.log.Error("members of the group cannot be read, and count as gone", zap.Strings("keys", state.Damaged))
		}
		m.state = state
		close(m.stateChanged)
		m.stateChanged = make(chan struct{})
	})
	signal(m.changed)
}

// update changes what says for which partitions this member is a candidate, and then makes it that.
func (m *SpreadMember) update(change func()) {
	m.mu.Lock()
	change()
	assigned, wanted := m.state.Assignment.Members, map[string]bool{}
	for _, partition := range m.partitions {
		wanted[partition] = true
	}
	for partition := range assigned {
		wanted[partition] = true
	}
	var ended []*shard
	for partition := range wanted {
		if m.shards[partition] == nil && m.ctx.Err() == nil {
			m.shards[partition] = m.newShard(partition)
		}
	}
	for partition, s := range m.shards {
		s.member.setMayLead(assigned[partition] == m.self.Name && !m.nameTaken)
		if !wanted[partition] {
			ended = append(ended, s)
			delete(m.shards, partition)
		}
	}
	m.mu.Unlock()
	for _, s := range ended {
		m.serving.Go(func() { m.closeShard(s) })
	}
}

func (m *SpreadMember) closeShard(s *shard) {
	if err := s.member.Close(); err != nil {
		m.log.Error("a partition has not ended", zap.String("partition", s.partition), zap.Error(err))
	}
}

// signal gives a channel with a capacity of one a value.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// noteStore logs when etcd has failed, and when it answers again.
func (m *SpreadMember) noteStore(err error) {
	if m.ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	before := m.announced
	m.announced = err
	m.mu.Unlock()
	switch {
	case err != nil && before == nil:
		m.log.Warn("the state of the group cannot be read: what is assigned stays", zap.Error(err))
	case err == nil && before != nil:
		m.log.Info("the state of the group can be read again")
	}
}

// announce makes this member, and what it leads, known to the others until Close.
func (m *SpreadMember) announce() {
	var failed error
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		ctx, cancel := context.WithTimeout(m.ctx, m.ha.Etcd.TTL/3)
		err := m.members.Announce(ctx, m.info())
		cancel()
		m.noteName(errors.Is(err, spread.ErrNameTaken))
		if m.ctx.Err() == nil && (err == nil) != (failed == nil) {
			if failed = err; err != nil {
				m.log.Warn("this member cannot be announced: nothing is assigned to it when its lease has ended", zap.Error(err))
			} else {
				m.log.Info("this member is announced again")
			}
		}
		timer.Reset(m.ha.Etcd.TTL / 6)
		select {
		case <-timer.C:
		case <-m.news:
		case <-m.ctx.Done():
			m.withdraw()
			return
		}
	}
}

// noteName keeps whether another process has the name of this one: what is assigned to that name is for the other then.
func (m *SpreadMember) noteName(taken bool) {
	m.mu.Lock()
	same := m.nameTaken == taken
	m.mu.Unlock()
	if !same {
		m.update(func() { m.nameTaken = taken })
	}
}

// withdraw makes this member unknown, so that its partitions are assigned to others at once.
func (m *SpreadMember) withdraw() {
	ctx, cancel := context.WithTimeout(context.Background(), m.ha.Etcd.TTL/6)
	defer cancel()
	if err := m.members.Withdraw(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		m.log.Warn("this member is not withdrawn: its lease ends by itself", zap.Error(err))
	}
}

// info is what this member announces.
func (m *SpreadMember) info() spread.Member {
	me := spread.Member{Name: m.self.Name, GRPC: m.self.GRPC, HTTP: m.self.HTTP, Leads: map[string]float64{}}
	now := time.Now()
	m.mu.Lock()
	shards := maps.Clone(m.shards)
	me.Checked, me.Objections = m.checked.number, m.checked.objections
	m.mu.Unlock()
	for partition, s := range shards {
		load := s.measure(now)
		switch failed := s.member.failed.Load(); {
		case s.leads():
			me.Leads[partition] = load
		case failed != 0 && now.Sub(time.Unix(0, failed)) < refusalTime:
			me.Refuses = append(me.Refuses, partition)
		}
	}
	slices.Sort(me.Refuses)
	return me
}

// refusalTime is how long a partition that this member could not lead goes to others, if they have not refused it (HAP-9).
const refusalTime = time.Minute
