package canopy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/internal/spread"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// checkTimeout bounds how long a partition may take to check a proposal. It is shorter than the coordinator waits for all of them, so that a
// partition that is busy is named.
const checkTimeout = 20 * time.Second

// groupCluster is what the configurations of the coordinator are put in force in: they come into force where the leaders of partitions
// follow what is stored. Before that they all check it (HAP-16).
type groupCluster struct {
	member *SpreadMember
	epoch  int64
	text   string          // of the configuration that Reload is called with
	conf   *configs.Config // nil: before the first, which is in force already, or decided upon without a check
}

// Config is part of reload.Cluster.
func (g *groupCluster) Config() *configs.Config { return g.conf }

// Reload is part of reload.Cluster.
func (g *groupCluster) Reload(ctx context.Context, conf *configs.Config) (time.Duration, error) {
	if g.conf != nil {
		if err := g.member.propose(ctx, g.epoch, g.text); err != nil {
			return 0, err
		}
	}
	g.conf = conf
	return 0, nil
}

// propose asks all members whether a configuration can be put in force in the partitions that they lead. The error has all objections, or
// names the members that have not answered when ctx ended.
func (m *SpreadMember) propose(ctx context.Context, epoch int64, text string) error {
	callCtx, cancel := context.WithTimeout(ctx, m.ha.Etcd.TTL)
	defer cancel()
	number, err := m.members.Propose(callCtx, epoch, []byte(text))
	if err != nil {
		return fmt.Errorf("%w: the members cannot be asked to check the configuration: %w", ErrBusy, err)
	}
	defer m.endProposal(epoch)
	for {
		state, observed := m.observed()
		missing, objections := state.Verdict(number)
		if state.Revision >= number && len(missing) == 0 {
			return joinObjections(objections)
		}
		select {
		case <-observed:
		case <-ctx.Done():
			return fmt.Errorf("it was not checked by the members %s: %w", strings.Join(missing, ", "), ctx.Err())
		}
	}
}

// endProposal removes a proposal that is decided upon. One that stays is checked by members that start, which has no effect.
func (m *SpreadMember) endProposal(epoch int64) {
	ctx, cancel := context.WithTimeout(m.ctx, m.ha.Etcd.TTL/3)
	defer cancel()
	_, err := m.members.Propose(ctx, epoch, nil)
	if err != nil && m.ctx.Err() == nil && !errors.Is(err, spread.ErrNotCoordinator) {
		m.log.Warn("a proposed configuration is decided upon, and its key was not removed", zap.Error(err))
	}
}

// joinObjections is the error with the objections of partitions; nil: there are none.
func joinObjections(objections map[string]string) error {
	var all []error
	for _, partition := range slices.Sorted(maps.Keys(objections)) {
		all = append(all, errors.New(objections[partition]))
	}
	return errors.Join(all...)
}

// observed is the state that was read last, and a channel that is closed when there is another one.
func (m *SpreadMember) observed() (spread.State, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, m.stateChanged
}

// checkedProposal is what this member has found about a proposal.
type checkedProposal struct {
	number     int64             // 0: none was checked
	objections map[string]string // by partition
}

// checkProposals checks what coordinators propose with the partitions that this member leads, until Close.
func (m *SpreadMember) checkProposals() {
	last := int64(0)
	for {
		state, observed := m.observed()
		if n := state.Proposal; n != 0 && n != last {
			text, err := m.members.Proposed(m.ctx, n)
			switch {
			case err == nil:
				c := checkedProposal{n, m.objections(text)}
				m.mu.Lock()
				m.checked = c
				m.mu.Unlock()
				last = n
				signal(m.news)
				continue
			case !errors.Is(err, spread.ErrNoProposal):
				if !m.wait(storeRetry) {
					return
				}
				continue
			}
		}
		select {
		case <-observed:
		case <-m.ctx.Done():
			return
		}
	}
}

// objections are those of the partitions that this member leads to a proposed text.
func (m *SpreadMember) objections(text []byte) map[string]string {
	ctx, cancel := context.WithTimeout(m.ctx, checkTimeout)
	defer cancel()
	m.mu.Lock()
	shards := maps.Clone(m.shards)
	m.mu.Unlock()
	p, unreadable := reload.Read(reload.File, "", text, m.opt.bounds())
	var mu sync.Mutex
	var checking sync.WaitGroup
	out := map[string]string{}
	for partition, s := range shards {
		server := s.member.server()
		if server == nil {
			continue
		}
		checking.Go(func() {
			err := unreadable
			if err == nil {
				err = server.engine.CheckConfig(ctx, only(p, partition).Config)
			}
			if err != nil && !errors.Is(err, ErrClosed) {
				mu.Lock()
				defer mu.Unlock()
				out[partition] = fmt.Sprintf("member %s: %v", m.self.Name, err)
			}
		})
	}
	checking.Wait()
	return out
}
