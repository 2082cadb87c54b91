package usergroup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jellydator/ttlcache/v3"
)

// How long an answer is good (behaviour.md 9.4).
const (
	resultTTL  = 300 * time.Second
	failureTTL = 30 * time.Second // nobody can say
)

// DefaultTimeout is how long an answer may take when nothing else is said.
const DefaultTimeout = 5 * time.Second

// Source knows the groups of users.
type Source interface {
	// Groups lists the groups of user in any order. It returns soon after ctx ends. An
	// error means that nobody can say; a user without groups is none.
	Groups(ctx context.Context, user string) ([]string, error)
	fmt.Stringer // who it is, for a reason
}

// Options say how a Directory works. The zero value is good.
type Options struct {
	Timeout        time.Duration // from question to answer; 0: DefaultTimeout
	Workers        int           // questions a Source is asked at the same time; 0: 64
	MaxCachedUsers uint64        // users whose answers are remembered; 0: 65,536
	MaxCachedBytes uint64        // what these answers may take together, roughly; 0: 128 MiB
}

// Resolver answers questions about users out of a Source. It is safe for concurrent use.
type Resolver struct {
	opt      Options
	source   Source
	lifetime *lifetime
	cache    *ttlcache.Cache[string, result] // cleaned when something is added: it has no goroutine

	mu      sync.Mutex         // guards the rest
	pending map[string]*lookup // by user: those without an answer
	waiting []*lookup          // those nobody asks yet
	workers int
}

type result struct {
	groups []string
	err    error
}

// cacheCost is about what an answer takes to remember.
func cacheCost(item ttlcache.CostItem[string, result]) uint64 {
	const (
		entry = 256 // in the cache
		text  = 16  // besides its bytes
	)
	n := entry + len(item.Key)
	if item.Value.err != nil {
		n += len(item.Value.err.Error())
	}
	for _, g := range item.Value.groups {
		n += text + len(g)
	}
	return uint64(n)
}

// lookup is about one user, whoever wants to know.
type lookup struct {
	user      string
	deadline  time.Time
	callbacks []func(groups []string, err error)
}

// NewResolver returns a Directory that asks source, with a life of its own.
func NewResolver(source Source, opt Options) *Resolver {
	return newResolverWithLifetime(source, opt, newLifetime())
}

// newResolverWithLifetime returns a Directory that holds nothing but memory while nobody asks it: whoever
// does not want it any more forgets it.
func newResolverWithLifetime(source Source, opt Options, l *lifetime) *Resolver {
	if opt.Timeout <= 0 {
		opt.Timeout = DefaultTimeout
	}
	if opt.Workers <= 0 {
		opt.Workers = 64
	}
	if opt.MaxCachedUsers == 0 {
		opt.MaxCachedUsers = 1 << 16
	}
	if opt.MaxCachedBytes == 0 {
		opt.MaxCachedBytes = 128 << 20
	}
	d := &Resolver{opt: opt, source: source, lifetime: l, pending: map[string]*lookup{}}
	d.cache = ttlcache.New(ttlcache.WithCapacity[string, result](opt.MaxCachedUsers),
		ttlcache.WithMaxCost(opt.MaxCachedBytes, cacheCost), ttlcache.WithDisableTouchOnHit[string, result]())
	return d
}

// Cached is what can be said without asking anybody. ok is false when it has to be Found
// out; err says that nobody could say, a short while ago. The groups are in order and
// must not be changed.
func (r *Resolver) Cached(user string) (groups []string, ok bool, err error) {
	item := r.cache.Get(user)
	if item == nil {
		return nil, false, nil
	}
	return item.Value().groups, true, item.Value().err
}

// Resolve finds out and tells then, once and on another goroutine, unless the Directory
// closes first. The wait for a turn counts in the time-out: a Source that hangs makes
// nobody wait longer than that.
func (r *Resolver) Resolve(user string, callback func(groups []string, err error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lifetime.ctx.Err() != nil {
		return
	}
	if q, ok := r.pending[user]; ok {
		q.callbacks = append(q.callbacks, callback)
		return
	}
	q := &lookup{user: user, deadline: time.Now().Add(r.opt.Timeout), callbacks: []func([]string, error){callback}}
	r.pending[user] = q
	r.waiting = append(r.waiting, q)
	if r.workers < r.opt.Workers && r.lifetime.start(r.runLookups) {
		r.workers++
	}
}

// Close ends the life of the Directory. When it returns, nobody is told anything any more.
func (r *Resolver) Close() { r.lifetime.close() }

// runLookups asks one question after the other, until there are none.
func (r *Resolver) runLookups() {
	for q := r.nextLookup(); q != nil; q = r.nextLookup() {
		groups, known, err := r.Cached(q.user) // somebody was told between two looks
		a := result{groups, err}
		if !known {
			a = r.query(q)
			r.cacheResult(q, a)
		}
		for _, callback := range r.finish(q) {
			callback(a.groups, a.err)
		}
	}
}

func (r *Resolver) nextLookup() *lookup {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 || r.lifetime.ctx.Err() != nil {
		r.workers--
		return nil
	}
	q := r.waiting[0]
	r.waiting[0] = nil
	r.waiting = r.waiting[1:]
	return q
}

// query asks the source.
func (r *Resolver) query(q *lookup) (a result) {
	ctx, cancel := context.WithDeadline(r.lifetime.ctx, q.deadline)
	defer cancel()
	defer func() {
		// What a Source reads comes from a network, through code that is not ours.
		if p := recover(); p != nil {
			a = result{err: fmt.Errorf("%s: broken answer: %v", r.source, p)}
		}
	}()
	groups, err := r.source.Groups(ctx, q.user)
	if err == nil {
		groups, err = normalizeGroups(groups)
	}
	switch {
	case err == nil:
		return result{groups: groups}
	case !time.Now().Before(q.deadline): // a dialer may notice before ctx does
		return result{err: fmt.Errorf("%s: no answer within %s", r.source, r.opt.Timeout)}
	}
	return result{err: fmt.Errorf("%s: %w", r.source, truncateError(err))}
}

// truncateError is an error without the end of a text that somebody else made very long.
func truncateError(err error) error {
	const longest = 1 << 10
	if text := err.Error(); len(text) > longest {
		return errors.New(strings.ToValidUTF8(text[:longest], "") + "...")
	}
	return err
}

// cacheResult keeps an answer, and forgets those that are not good any more: nobody else does.
func (r *Resolver) cacheResult(q *lookup, a result) {
	if r.lifetime.ctx.Err() != nil {
		return // it is no answer, but the end
	}
	ttl := resultTTL
	if a.err != nil {
		ttl = failureTTL
	}
	r.cache.DeleteExpired()
	r.cache.Set(q.user, a, ttl)
}

// finish closes a question and returns who has to be told: nobody, after the end.
func (r *Resolver) finish(q *lookup) []func([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, q.user)
	if r.lifetime.ctx.Err() != nil {
		return nil
	}
	return q.callbacks
}
