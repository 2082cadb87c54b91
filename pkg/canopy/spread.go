package canopy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/election"
	"github.com/canopy-scheduler/canopy/internal/election/etcd"
	"github.com/canopy-scheduler/canopy/internal/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/forward"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/internal/spread"
	spreadetcd "github.com/canopy-scheduler/canopy/internal/spread/etcd"
)

// SpreadMember is a process of a group whose partitions are spread over its members: each partition has a leader of its own, and every
// member forwards what it gets to the leader of the partition (docs/SCALE.md). For each partition it has a Member, which is a candidate
// where the coordinator has assigned the partition to this process. It is safe for concurrent use.
type SpreadMember struct {
	spreadParts
	openedMember
	opt        Options
	ha         HA
	log        *zap.Logger
	config     *groupConfig
	forwarders [3]*forward.Forwarder // by front
	grpc       *http.Server          // nil: none, like the following
	http       *httpserver.Server
	admin      *httpserver.Server
	election   *election.Campaign // of the coordinator
	changed    chan struct{}      // has a value when the state or the configuration has changed, for the coordinator
	news       chan struct{}      // has a value when there is something to announce
	begun      time.Time

	ctx     context.Context // ends when Close is called, or a listener has failed
	cancel  context.CancelFunc
	serving sync.WaitGroup
	closing closing
	end     end

	mu           sync.Mutex
	shards       map[string]*shard // by partition
	state        spread.State      // as read last; Revision 0: never
	partitions   []string          // of the configuration in force
	coordination *coordination     // nil: this member does not coordinate
	stateChanged chan struct{}     // closed when state changes
	checked      checkedProposal   // of coordinators
	nameTaken    bool              // by another process
	announced    error             // the last error of the store; nil: it has answered
}

// spreadParts is what the members of a group share, and the clock.
type spreadParts struct {
	coordinators election.Store                                    // elects the coordinator
	leaders      func(partition string) election.Store             // elects the leader of a partition
	members      spread.Store                                      // which members live, and what is assigned
	configs      groupStores                                       // of the coordinator
	operators    func(partition string) groupStores                // of the leader of a partition
	history      func(context.Context) (reload.StoredState, error) // of configurations
	closeStore   func() error
	now          func() election.Instant
	settle       time.Duration // how long a process that has just started waits for others before it assigns partitions
}

// StartSpreadMember starts a process of a group whose partitions are spread over its members. It returns when its listeners are open;
// etcd need not be reached for that. Options.Config or ConfigFile, which every member should have alike, are the configuration of the group: the
// coordinator reads it. Errors and ctx are those of StartMember.
func StartSpreadMember(ctx context.Context, opt Options, ha HA) (*SpreadMember, error) {
	ha.complete()
	store := etcd.New(ha.config())
	kv := func() (etcdstore.KV, error) {
		c, err := store.Client()
		if err != nil {
			return nil, err // a nil *Client is no nil KV
		}
		return c, nil
	}
	prefix := ha.Etcd.Prefix
	below := func(partition string) string { return prefix + "/partitions/" + url.PathEscape(partition) }
	return startSpreadMember(ctx, opt, ha, spreadParts{
		coordinators: store,
		leaders:      func(partition string) election.Store { return store.Below(below(partition)) },
		members:      spreadetcd.New(spreadetcd.Options{Client: store.Client, Prefix: prefix, TTL: ha.Etcd.TTL}),
		configs:      &etcdStores{kv, prefix, store.LeaderKey(), etcdstore.LeaderOfPartition},
		operators: func(partition string) groupStores {
			return &etcdStores{kv, below(partition), store.Below(below(partition)).LeaderKey(), ""}
		},
		history: func(ctx context.Context) (reload.StoredState, error) {
			kv, err := kv()
			if err != nil {
				return reload.StoredState{}, err
			}
			return etcdstore.Read(ctx, kv, prefix)
		},
		closeStore: store.Close, now: election.Now, settle: ha.Etcd.TTL / 3,
	})
}

func startSpreadMember(ctx context.Context, opt Options, ha HA, parts spreadParts) (*SpreadMember, error) {
	ha.complete()
	peers, err := ha.peerTLS(&opt)
	if err := errors.Join(opt.check(), opt.checkHA(&ha), opt.checkSpread(), err); err != nil {
		return nil, err
	}
	opened, err := opt.openMember(ctx, &ha)
	if err != nil {
		return nil, err
	}
	opt.HTTP.HostNames = withAdvertised(opt.HTTP.HostNames, opened.self.HTTP)
	opt.openLevels()
	m := &SpreadMember{
		spreadParts: parts, openedMember: opened, opt: opt, ha: ha, log: cmp.Or(opt.Log, zap.NewNop()),
		config: newGroupConfig(), changed: make(chan struct{}, 1), news: make(chan struct{}, 1), stateChanged: make(chan struct{}), shards: map[string]*shard{}, begun: time.Now(),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.closing.done, m.end.done = make(chan struct{}), make(chan struct{})
	m.election = election.Start(election.Options{Store: parts.coordinators, Self: m.self, TTL: ha.Etcd.TTL, Now: parts.now})
	m.openForwarders(peers)
	m.serveFront()
	m.security.watch(m.ctx, &m.serving, &m.opt, m.log)
	m.serving.Go(m.observe)
	m.serving.Go(m.announce)
	m.serving.Go(m.checkProposals)
	m.serving.Go(m.coordinate)
	return m, nil
}

// checkSpread returns an OptionError for each option that a member of a group with spread partitions cannot have, joined (HAP-11).
func (o *Options) checkSpread() error {
	var all []error
	wrong := func(field, format string, args ...any) {
		all = append(all, o.invalid(field, fmt.Errorf(format, args...)))
	}
	if !o.hasConfig() {
		wrong("ConfigFile", "the partitions of a group are those of its configuration, which is missing")
	}
	if o.Security.ClientCAFile != "" {
		wrong("Security.ClientCAFile", "a call that is forwarded to another member has no client certificate: use Security.TokensFile")
	}
	return errors.Join(all...)
}

// GRPCAddress is where the gRPC server listens; nil: there is none.
func (m *SpreadMember) GRPCAddress() net.Addr { return addressOf(m.listeners.grpc) }

// HTTPAddress is where the HTTP server listens; nil: there is none.
func (m *SpreadMember) HTTPAddress() net.Addr { return addressOf(m.listeners.http) }

// AdminAddress is where the admin server listens; nil: there is none.
func (m *SpreadMember) AdminAddress() net.Addr { return addressOf(m.listeners.admin) }

// Done is closed when the SpreadMember has stopped serving: Close was called, or a listener has failed. After a failure the caller must still
// Close it.
func (m *SpreadMember) Done() <-chan struct{} { return m.end.done }

// Err is why Done is closed: a failure, or nil after Close. nil while it serves.
func (m *SpreadMember) Err() error {
	select {
	case <-m.end.done:
		return m.end.err
	default:
		return nil
	}
}
