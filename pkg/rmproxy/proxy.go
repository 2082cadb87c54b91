package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/hints"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Errors of requests.
var (
	ErrRequest            = errors.New("invalid request")                        // a field is invalid
	ErrConfig             = engine.ErrConfig                                     // the queues.yaml of a request is invalid
	ErrOtherRM            = errors.New("another resource manager is registered") // only one may be
	ErrNotRegistered      = errors.New("not registered")                         // RegisterResourceManager comes first
	ErrPendingLookupsFull = errors.New("too many commands wait for users to be resolved: send the message again later")
	ErrTooLarge           = errors.New("message too large") // larger than Limits allow
	ErrClosed             = errors.New("the scheduler is stopping")
	// ends the streams of the RM that is replaced
	errRMReplaced = errors.New("another resource manager has registered")
	// ends the streams of the previous registration
	errReregistered = errors.New("the resource manager has re-registered")
)

// Options configure a Proxy (PRI-43). The zero value is valid.
type Options struct {
	Log            *zap.Logger // nil: no log
	IgnoreRMConfig bool        // the configuration of a registration is ignored
	// StrictClasses rejects asks that have a priority and no priority class (S0-11). Shims of
	// YuniKorn 1.9 send only the priority.
	StrictClasses bool
	// RecoveryQuiet is set in the loop.Mode of a linked shim.
	RecoveryQuiet time.Duration
	// PlacementsPerSecond is set in the loop.Mode of a linked shim.
	PlacementsPerSecond int
	// Events are the records that a linked shim gets by SendEvent; nil: it gets none.
	Events EventSource
	// OnAPIRejected is called with each rejection by the API itself, which no partition has seen.
	// It must not block. nil: not called.
	OnAPIRejected func(e scheduler.Effect)

	// Elsewhere returns what a rejection adds about a partition that is not served here; nil: nothing.
	Elsewhere func(partition string) string

	Limits Limits // of the gRPC API

	Hints hints.Options // of the stream that explains why asks wait

	// AccessCounts count clients that use the ID of another resource manager. nil: they are not counted.
	AccessCounts *auth.Counts
}

// Proxy connects a resource manager with a scheduler: a remote one by the streams of the gRPC API
// (Register), or one in this process (InProcess). One of them is registered at a time.
type Proxy struct {
	opt      Options
	log      *zap.Logger
	engine   *engine.Engine
	cluster  *loop.Cluster
	instance string          // see newInstance
	ctx      context.Context // ends when the Proxy closes
	cancel   context.CancelFunc

	lifecycleMu sync.Mutex     // held during a registration, a configuration change, and Close
	callbacks   *callbackToken // held during a call to a linked shim

	memory memoryBudgets // for messages of all streams
	hints  *hints.Server

	dumping atomic.Bool // the shim describes its state, see StateDump

	currentSession atomic.Pointer[session] // nil: no RM is registered; changed under mu

	ignored     ignoredCounts
	disconnects atomic.Uint64 // how often an RM became disconnected

	mu                sync.Mutex             // guards the rest
	registered        Registration           // the current one
	effectSinks       map[string]*effectSink // by partition
	silent            silentStreams
	otherCalls        []*otherCall  // of other services, the oldest first
	registrationCount atomic.Uint64 // registrations so far; changed under mu
	replaced          []string      // RMs in whose place another one registered, oldest first; at most maxReplaced
	replacements      uint64        // how often that was
	closed            bool
	goroutines        sync.WaitGroup // the goroutines of streams and deliveries
}

// New returns a Proxy for a scheduler that was not started, and connects it.
func New(e *engine.Engine, opt Options) *Proxy {
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	opt.Limits = opt.Limits.withDefaults()
	p := &Proxy{
		memory: newMemoryBudgets(opt.Limits), opt: opt, log: opt.Log, engine: e, cluster: e.Cluster(),
		callbacks: newCallbackToken(), effectSinks: map[string]*effectSink{}, instance: newInstance(),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.hints = hints.New(p, p.cluster, opt.Hints)
	e.Connect(p.newEffectSink)
	return p
}

// Cluster returns the partitions, for readers.
func (p *Proxy) Cluster() *loop.Cluster { return p.cluster }

// Close ends the session and its streams, and waits for all of them (RMI-67). The scheduler is not
// ended: its callers do that next. Callbacks must not call it.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	s := p.currentSession.Swap(nil)
	p.mu.Unlock()
	p.cancel()
	if s != nil {
		s.close(ErrClosed) // first: goroutines that wait for the session stop waiting
	}
	p.lifecycleMu.Lock() // a registration, or a change of the configuration, has ended
	defer p.lifecycleMu.Unlock()
	p.goroutines.Wait()
}

// session returns the session of a registered RM. what names the request, for the error (RMI-8).
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

// errOtherAPI is the error of a message over another API than the one over which its RM registered.
func errOtherAPI(rm, api string) error {
	return fmt.Errorf("%w here: RM %s is registered %s", ErrNotRegistered, rm, api)
}

// current is the session of the registered RM; nil: none is registered.
func (p *Proxy) current() *session { return p.currentSession.Load() }

// waitForMailboxes blocks while the mailboxes of the partitions are full. A partition that ends
// does not count.
func (p *Proxy) waitForMailboxes(ctx context.Context) error {
	if err := p.cluster.Wait(ctx); !errors.Is(err, loop.ErrEnded) {
		return err
	}
	return nil
}

// spawn runs f in a goroutine that Close waits for; ok is false, and f does not run, after Close.
func (p *Proxy) spawn(f func()) (ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.goroutines.Go(f)
	return true
}
