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
)

// checkTimeout bounds how long a partition may take to check a proposal. It is shorter than the coordinator waits for all of them, so that a
// partition that is busy is named.
const checkTimeout = 20 * time.Second

// propose asks all members whether a configuration can be put in force in the partitions that they lead (HAP-16). The error is ErrRefused with
// all objections, or ErrBusy with the members that have not answered in time.
func (m *SpreadMember) propose(ctx context.Context, epoch int64, text string) error {
	// A member that has died is asked until its lease has ended.
	ctx, stop := context.WithTimeout(ctx, m.ha.Etcd.TTL+checkTimeout+storeRetry)
	defer stop()
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
			return refusal(objections)
		}
		select {
		case <-observed:
		case <-ctx.Done():
			return fmt.Errorf("%w: it was not checked by the members %s: %w", ErrBusy, strings.Join(missing, ", "), ctx.Err())
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

// refusal is ErrRefused with the objections of partitions; nil: there are none.
func refusal(objections map[string]string) error {
	if len(objections) == 0 {
		return nil
	}
	all := []error{ErrRefused}
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
