package canopy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
	"github.com/canopy-scheduler/canopy/internal/ha/election/etcd"
	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
)

// Member is a process of a group, of which one leads. It keeps the listeners, and runs a Server while it leads: a term
// is a Server that begins without any state, and resource managers report theirs to it. It is safe for concurrent use.
type Member struct {
	opt      Options
	ha       HA
	log      *zap.Logger
	self     election.Leader
	security *security
	listeners
	handovers  [3]*handover // of grpc, http and admin; nil: none
	standby    *standby
	closeStore func() error
	now        func() election.Instant
	campaign   *election.Campaign
	stores     *etcdStores // nil: the members share nothing

	ctx     context.Context // ends when Close is called, or a listener has failed
	cancel  context.CancelFunc
	serving sync.WaitGroup // the goroutines of the listeners and of watches
	ran     chan struct{}  // closed when run has ended
	closing closing
	end

	current atomic.Pointer[memberTerm] // nil: none is under way
}

// ErrStandby is the error of calls that only a leader can carry out.
var ErrStandby = errors.New("this member of the group does not lead")

// StartMember starts a member of a group. It returns when its listeners are open, and stands by at first. etcd need not
// be reached for that. When ctx ends before, StartMember returns its error; later ctx has no effect, and the caller
// must Close the Member.
//
// The error is a *ConfigError with all problems of Options.Config, or *OptionError values, joined.
// Options.DataDir cannot be used. Nothing is left running or open then.
func StartMember(ctx context.Context, opt Options, ha HA) (*Member, error) {
	ha.complete()
	config := ha.config(groupName(opt.Config.Partitions))
	store := etcd.New(config)
	stores := &etcdStores{func() (etcdstore.KV, error) {
		c, err := store.Client()
		if err != nil {
			return nil, err // a nil *Client is no nil KV
		}
		return c, nil
	}, config}
	return startMember(ctx, opt, ha, store, stores, store.Close, election.Now)
}

// startMember is StartMember with any store and clock.
func startMember(ctx context.Context, opt Options, ha HA, store election.Store, stores *etcdStores,
	closeStore func() error, now func() election.Instant) (*Member, error) {
	ha.complete()
	if err := opt.check(&ha); err != nil {
		return nil, err
	}
	if err := opt.checkTerm(); err != nil {
		return nil, err
	}
	secured, err := opt.loadSecurity()
	if err != nil {
		return nil, err
	}
	opt.warnOfOpenFiles(ha.Etcd.KeyFile, ha.Etcd.PasswordFile)
	opened, err := opt.openListeners(ctx)
	self, invalid := opt.advertised(&ha, opened)
	if err = errors.Join(err, ctx.Err(), invalid); err != nil {
		return nil, errors.Join(err, opened.close())
	}
	opt.openLevels()
	opt.HTTP.HostNames = withAdvertised(opt.HTTP.HostNames, self.HTTP)
	m := &Member{
		opt: opt, ha: ha, log: cmp.Or(opt.Log, zap.NewNop()), security: secured, listeners: opened, stores: stores,
		closeStore: closeStore, now: now,
		handovers: [3]*handover{newHandover(opened.grpc), newHandover(opened.http), newHandover(opened.admin)},
		ran:       make(chan struct{}),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.closing.done, m.end.done = make(chan struct{}), make(chan struct{})
	m.standby = newStandby(&m.opt, m.log, secured, self, m.receivers(func(h *handover) *receiver { return h.standby }))
	m.campaign = election.Start(election.Options{Store: store, Self: self, TTL: ha.Etcd.TTL, Now: now})
	secured.watch(m.ctx, &m.serving, &m.opt, m.log)
	for i, h := range m.handovers {
		if h != nil {
			m.serving.Go(func() {
				if err := h.run(); err != nil {
					m.stopped(fmt.Errorf("%s: %w", [...]string{"grpc", "http", "admin"}[i], err))
				}
			})
		}
	}
	go m.run()
	return m, nil
}

// checkTerm reports what no term could begin with, so that it is an error of the start.
func (o *Options) checkTerm() error {
	if o.Config.exists() {
		if _, err := o.readConfig(); err != nil {
			return err
		}
	}
	page, err := o.openPage()
	if err != nil {
		return err
	}
	return page.Close()
}

// withAdvertised adds the name in the URL of this member, to which standbys redirect, to the names that it answers for.
func withAdvertised(names []string, advertised string) []string {
	_, address, _ := strings.Cut(advertised, "://")
	if host, _, err := net.SplitHostPort(address); err == nil {
		return append(append([]string{}, names...), host)
	}
	return names
}

// receivers are the receivers of the handovers as listeners.
func (m *Member) receivers(of func(*handover) *receiver) (l listeners) {
	for i, to := range []*net.Listener{&l.grpc, &l.http, &l.admin} {
		if h := m.handovers[i]; h != nil {
			*to = of(h)
		}
	}
	return l
}

// run begins and ends terms as the campaign says, until the Member is closed.
func (m *Member) run() {
	defer close(m.ran)
	m.campaign.Resume()
	var seen election.Status
	var resume <-chan time.Time
	var over *election.Term // the last term; the status may have it until the campaign has heard that it is over
	for {
		status := m.campaign.Status()
		m.report(seen, status)
		seen = status
		m.standby.observe(status.Leader, status.Epoch)
		term := m.current.Load()
		switch {
		case term == nil && status.Term != nil && status.Term != over && m.ctx.Err() == nil:
			term = m.begin(status.Term)
		case term != nil && status.Term != term.Term:
			term.cancel()
		}
		var ended <-chan struct{}
		if term != nil {
			ended = term.done
		}
		select {
		case <-m.campaign.Changed():
		case <-resume:
			m.campaign.Resume()
		case <-ended:
			over = term.Term
			resume = m.afterTerm(term)
			if m.ctx.Err() != nil {
				return
			}
		case <-m.ctx.Done():
			if term == nil {
				return
			}
			term.cancel()
			<-term.done
			m.afterTerm(term)
			return
		}
	}
}

// report logs what has changed.
func (m *Member) report(before, now election.Status) {
	if now.Term != before.Term && before.Term != nil {
		m.log.Warn("the term of this member has ended", zap.Int64("epoch", before.Term.Epoch()),
			zap.String("reason", string(now.Ended)))
	}
	if now.Term != before.Term && now.Term != nil {
		m.log.Info("this member is elected leader", zap.String("member", m.self.Name), zap.Int64("epoch", now.Term.Epoch()))
	}
	if now.Term == nil && now.Epoch != 0 && now.Epoch != before.Epoch && now.Leader != m.self {
		m.log.Info("this member stands by", zap.String("leader", now.Leader.Name), zap.String("grpc", now.Leader.GRPC),
			zap.String("http", now.Leader.HTTP), zap.Int64("epoch", now.Epoch))
	}
	switch {
	case now.Err != nil && before.Err == nil:
		m.log.Warn("etcd does not answer", zap.Error(now.Err))
	case now.Err == nil && before.Err != nil:
		m.log.Info("etcd answers again")
	}
}
