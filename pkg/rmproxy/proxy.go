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
	ErrRequest       = errors.New("invalid request")                        // a field makes no sense
	ErrConfig        = errors.New("invalid configuration")                  // the queues.yaml of a request
	ErrOtherRM       = errors.New("another resource manager is registered") // only one at a time
	ErrNotRegistered = errors.New("not registered")                         // say RegisterResourceManager first
	ErrFull          = errors.New("too much waits for users to be looked up: send it again later")
	ErrTooLarge      = errors.New("message too large")                       // more than Limits allow
	ErrClosed        = errors.New("the scheduler is stopping")               // and does not come back
	errOtherRM       = errors.New("another resource manager has registered") // ends the streams of one that is replaced
	errReregistered  = errors.New("the resource manager has re-registered")  // ends the streams of its former self
)

// Options say how a Proxy runs. The zero value is good.
type Options struct {
	Loop   loop.Options
	Log    *zap.Logger      // nil: nothing is logged
	First  *reload.Proposal // in force until somebody has another; nil: the embedded default
	Pinned bool             // the texts of an RM are ignored
	Users  Directories      // of users that come without groups; nil: they are alone in a group of their name
	// StrictClasses refuses a number without a class (priority.md S0-11). Existing shims send
	// nothing else.
	StrictClasses bool
	// Heard is told what the partitions say, in order for each, before the RM is. It must not
	// wait for anybody. Nil: nobody listens.
	Heard func(partition string, effects []scheduler.Effect)
	// Answered is told what the API answers by itself: no partition has seen the request. It must
	// not wait. Nil: no one is told.
	Answered func(e scheduler.Effect)

	Limits Limits         // of the gRPC API
	Reload reload.Options // how configurations are remembered; its clock and log are those above
}

// Proxy connects a resource manager with the partitions it constructs.
type Proxy struct {
	opt     Options
	log     *zap.Logger
	cluster *loop.Cluster
	reloads *reload.Reloader
	over    context.Context // ends when the Proxy closes
	end     context.CancelFunc

	changing sync.Mutex    // held while somebody registers, configures or closes
	calling  chan struct{} // holds a token while a linked shim is told something

	room memoryBudgets // for messages of all streams

	now   atomic.Pointer[session]              // nil: no RM is registered; changed under mu
	users atomic.Pointer[map[string]Directory] // by partition, of the configuration in force

	isRemote    bool // RMs come over gRPC
	ignored     ignoredCounts
	disconnects atomic.Uint64 // how often an RM was found to be disconnected

	mu            sync.Mutex         // guards the rest
	record        Registration       // of now
	tellers       map[string]*teller // by partition
	silence       silence
	registrations uint64 // how many there have been
	closed        bool
	running       sync.WaitGroup // the goroutines of streams and deliveries
}

// New returns a Proxy whose partitions run under the initial configuration.
func New(opt Options) *Proxy { return build(opt, nil) }

func build(opt Options, oracle func(p *Proxy) scheduler.Oracle) *Proxy {
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	if opt.First == nil {
		opt.First = reload.Default()
	}
	opt.Limits = opt.Limits.withDefaults()
	p := &Proxy{room: newMemoryBudgets(opt.Limits), opt: opt, log: opt.Log, calling: make(chan struct{}, 1), tellers: map[string]*teller{}}
	p.over, p.end = context.WithCancel(context.Background())
	p.isRemote = oracle == nil
	p.opt.Loop.TellFirst = oracle != nil // whoever is asked must have been told before
	var ask func(string) scheduler.Oracle
	if oracle != nil {
		ask = func(string) scheduler.Oracle { return oracle(p) }
	}
	p.cluster = loop.NewCluster(p.opt.Loop, p.newTeller, ask)
	opt.Reload.Now, opt.Reload.Log = opt.Loop.Now, opt.Log
	opt.Reload.NodeResources = p.nodeResources
	p.reloads = reload.New(knowing{p}, opt.First, opt.Reload)
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
	s := p.now.Swap(nil)
	p.mu.Unlock()
	p.end()
	if s != nil {
		s.close(ErrClosed) // first: what waits for the session lets go now
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	p.cluster.End()
	p.running.Wait()
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
		return nil, fmt.Errorf("received %s, but RmID=%q %w", what, clip(rm), ErrNotRegistered)
	}
	return s, nil
}

// current is the session of the registered RM, nil when there is none.
func (p *Proxy) current() *session { return p.now.Load() }

// wait blocks while the partitions have too much to do. One that ends is not behind.
func (p *Proxy) wait(ctx context.Context) error {
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
	p.running.Go(f)
	return true
}
