package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Reasons the door refuses somebody.
var (
	ErrRequest            = errors.New("invalid request")                        // a field makes no sense
	ErrConfig             = errors.New("invalid configuration")                  // the queues.yaml of a request
	ErrOtherRM            = errors.New("another resource manager is registered") // only one at a time
	ErrNotRegistered      = errors.New("not registered")                         // say RegisterResourceManager first
	ErrPendingLookupsFull = errors.New("too much waits for users to be looked up: send it again later")
	ErrTooLarge           = errors.New("message too large")                       // more than Limits allow
	ErrClosed             = errors.New("the scheduler is stopping")               // and does not come back
	errRMReplaced         = errors.New("another resource manager has registered") // ends the streams of one that is replaced
	errReregistered       = errors.New("the resource manager has re-registered")  // ends the streams of its former self
)

// Options say how a Proxy runs. The zero value is good.
type Options struct {
	Loop           loop.Options
	Log            *zap.Logger      // nil: nothing is logged
	InitialConfig  *reload.Proposal // in force until somebody has another; nil: the embedded default
	IgnoreRMConfig bool             // the texts of an RM are ignored
	Directories    Directories      // of users that come without groups; nil: they are alone in a group of their name
	// StrictClasses refuses a number without a class (priority.md S0-11). Existing shims send
	// nothing else.
	StrictClasses bool
	// OnEffects is told what the partitions say, in order for each, before the RM is. It must not
	// wait for anybody. Nil: nobody listens.
	OnEffects func(partition string, effects []scheduler.Effect)
	// OnAPIRejected is told what the API answers by itself: no partition has seen the request. It must
	// not wait. Nil: no one is told.
	OnAPIRejected func(e scheduler.Effect)

	Limits Limits         // of the gRPC API
	Reload reload.Options // how configurations are remembered; its clock and log are those above
}

// Proxy connects a resource manager with the partitions it constructs.
type Proxy struct {
	opt     Options
	log     *zap.Logger
	cluster *loop.Cluster
	reloads *reload.Reloader
	ctx     context.Context // ends when the Proxy closes
	cancel  context.CancelFunc

	lifecycleMu   sync.Mutex    // held while somebody registers, configures or closes
	callbackToken chan struct{} // holds a token while a linked shim is told something

	memory memoryBudgets // for messages of all streams

	currentSession atomic.Pointer[session]              // nil: no RM is registered; changed under mu
	directories    atomic.Pointer[map[string]Directory] // by partition, of the configuration in force

	isRemote    bool // RMs come over gRPC
	ignored     ignoredCounts
	disconnects atomic.Uint64 // how often an RM was found to be disconnected

	mu                sync.Mutex             // guards the rest
	registered        Registration           // of now
	effectSinks       map[string]*effectSink // by partition
	silent            silentStreams
	registrationCount uint64 // how many there have been
	closed            bool
	goroutines        sync.WaitGroup // the goroutines of streams and deliveries
}

// New returns a Proxy whose partitions run under the initial configuration.
func New(opt Options) *Proxy { return newProxy(opt, nil) }

func newProxy(opt Options, oracle func(p *Proxy) scheduler.Oracle) *Proxy {
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	if opt.InitialConfig == nil {
		opt.InitialConfig = reload.Default()
	}
	opt.Limits = opt.Limits.withDefaults()
	p := &Proxy{memory: newMemoryBudgets(opt.Limits), opt: opt, log: opt.Log, callbackToken: make(chan struct{}, 1), effectSinks: map[string]*effectSink{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.isRemote = oracle == nil
	p.opt.Loop.SyncDelivery = oracle != nil // whoever is asked must have been told before
	var ask func(string) scheduler.Oracle
	if oracle != nil {
		ask = func(string) scheduler.Oracle { return oracle(p) }
	}
	p.cluster = loop.NewCluster(p.opt.Loop, p.newEffectSink, ask)
	opt.Reload.Now, opt.Reload.Log = opt.Loop.Now, opt.Log
	opt.Reload.NodeResources = p.nodeResources
	p.reloads = reload.New(clusterWithResolvers{p}, opt.InitialConfig, opt.Reload)
	return p
}

// Cluster is the partitions, for whoever reads them.
func (p *Proxy) Cluster() *loop.Cluster { return p.cluster }

// Reloads puts configurations in force, whoever wants them, and remembers them.
func (p *Proxy) Reloads() *reload.Reloader { return p.reloads }

// Close ends the session and its streams, then the partitions, and waits for all of
// them. It must not be called from a callback.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	s := p.currentSession.Swap(nil)
	p.mu.Unlock()
	p.cancel()
	if s != nil {
		s.close(ErrClosed) // first: what waits for the session lets go now
	}
	p.lifecycleMu.Lock()
	defer p.lifecycleMu.Unlock()
	p.cluster.End()
	p.goroutines.Wait()
}

// session finds the session of a registered RM. what is the request that needs it.
func (p *Proxy) session(rm, what string) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.current()
	switch {
	case p.closed:
		return nil, ErrClosed
	case s == nil || s.rm != rm:
		return nil, fmt.Errorf("received %s, but RmID=%q %w", what, truncate(rm), ErrNotRegistered)
	}
	return s, nil
}

// current is the session of the registered RM, nil when there is none.
func (p *Proxy) current() *session { return p.currentSession.Load() }

// waitForMailboxes blocks while the partitions have too much to do. One that ends is not behind.
func (p *Proxy) waitForMailboxes(ctx context.Context) error {
	if err := p.cluster.Wait(ctx); !errors.Is(err, loop.ErrEnded) {
		return err
	}
	return nil
}

// spawn runs f in a goroutine that Close waits for. It does not when the Proxy has
// closed.
func (p *Proxy) spawn(f func()) (ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.goroutines.Go(f)
	return true
}
