package canopy

import (
	"context"
	"errors"
)

// Leader is the leader of the group as far as this member knows, itself included. false: none is known.
func (m *Member) Leader() (MemberInfo, bool) {
	s := m.campaign.Status()
	return memberInfo(s.Leader, s.Epoch), s.Epoch != 0
}

// Leads reports whether this member may answer as the leader now.
func (m *Member) Leads() bool {
	t := m.campaign.Status().Term
	return t != nil && t.MaySend(m.now())
}

// ReloadFile is Server.ReloadFile of a leader. A standby reads the file when it becomes the leader: ErrStandby.
func (m *Member) ReloadFile(ctx context.Context) (Generation, error) {
	if s := m.server(); s != nil {
		return s.ReloadFile(ctx)
	}
	return Generation{}, ErrStandby
}

// Close ends the Member: the term, if it leads, so that a successor may lead at once (HA-4), its Server as Server.Close
// does, and the listeners. It returns when everything has ended, or after Options.CloseTimeout with an error that names
// what is stuck. Further calls wait for the same.
func (m *Member) Close() error {
	m.closing.once.Do(func() { go m.closeAll() })
	return m.closing.wait("the member", m.opt.CloseTimeout, m.Closing)
}

// Closing are the parts of the Member that Close waits for now, for a log line when it takes long.
func (m *Member) Closing() []string {
	m.closing.mu.Lock()
	steps := append([]string{}, m.closing.steps...)
	m.closing.mu.Unlock()
	if s := m.server(); s != nil {
		steps = append(steps, s.Closing()...)
	}
	return steps
}

// closeAll ends everything in the order in which parts depend on each other.
func (m *Member) closeAll() {
	defer close(m.closing.done)
	m.closing.step("the lease in etcd", m.campaign.Close) // nothing is sent from now on
	m.cancel()
	m.stopped(nil)
	m.closing.step("the term of the member", func() { <-m.ran })
	err := m.listeners.close()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	m.closing.step("the servers of the standby", func() { m.standby.close(ctx) })
	m.closing.step("the listeners and the watches of files", m.serving.Wait)
	m.closing.step("the connection to etcd", func() { err = errors.Join(err, m.closeStore()) })
	m.closing.mu.Lock()
	defer m.closing.mu.Unlock()
	m.closing.err = errors.Join(m.closing.err, err)
}
