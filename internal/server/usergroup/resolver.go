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

// How long a result is cached (ACL-28).
const (
	resultTTL  = 300 * time.Second
	failureTTL = 30 * time.Second // of a failed lookup
)

// DefaultTimeout bounds the time of a lookup (ACL-31).
const DefaultTimeout = 5 * time.Second

// Source is a directory of users and groups.
type Source interface {
	// Groups returns the groups of user in any order, and soon after ctx ends. An error means
	// that the groups are not known; that a user has no groups is no error.
	Groups(ctx context.Context, user string) ([]string, error)
	fmt.Stringer // the name of the source, for error texts
}

// Options are the bounds of a Resolver. The zero value means the defaults.
type Options struct {
	Timeout        time.Duration // of a lookup, waiting included; 0: DefaultTimeout
	Workers        int           // lookups in a Source at the same time; 0: 64
	MaxCachedUsers uint64        // users with a cached result; 0: 65,536
	MaxCachedBytes uint64        // approximate memory of cached results; 0: 128 MiB
	Source         Source        // for Resolvers: used in place of the sources os and ldap; comparable; nil: not
}

// Resolver resolves users by a Source and caches the results. It is safe for concurrent use.
type Resolver struct {
	opt      Options
	source   Source
	lifetime *lifetime
	cache    *ttlcache.Cache[string, result] // cleaned when a result is added: it has no goroutine

	mu      sync.Mutex         // guards the following
	pending map[string]*lookup // by user: lookups without a result
	waiting []*lookup          // lookups that no worker runs yet
	workers int
}

type result struct {
	groups []string
	err    error
}

// cacheCost returns the approximate memory of a cached result.
func cacheCost(item ttlcache.CostItem[string, result]) uint64 {
	const (
		entry = 256 // overhead of a cache entry
		text  = 16  // overhead of a string
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

// lookup is the lookup of one user, with the callbacks of all Resolve calls that wait for it.
type lookup struct {
	user      string
	deadline  time.Time
	callbacks []func(groups []string, err error)
}

// NewResolver returns a Resolver of source with a lifetime of its own.
func NewResolver(source Source, opt Options) *Resolver {
	return newResolverWithLifetime(source, opt, newLifetime())
}

// newResolverWithLifetime returns a Resolver that shares a lifetime. Without lookups it holds memory only: an
// unused one need not be closed.
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

// Cached returns the cached result for a user. ok is false if there is none, and the user must be resolved; err is the
// error of a lookup that failed a short while ago. The groups are sorted; the caller must not change them.
func (r *Resolver) Cached(user string) (groups []string, ok bool, err error) {
	item := r.cache.Get(user)
	if item == nil {
		return nil, false, nil
	}
	return item.Value().groups, true, item.Value().err
}

// Resolve looks up a user and calls callback once, on another goroutine, unless the Resolver is closed first.
// Waiting for a worker counts in the time-out, so a Source that hangs delays no result beyond it (ACL-31).
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

// Close ends the lifetime of the Resolver. After it has returned no callback is called.
func (r *Resolver) Close() { r.lifetime.close() }

// runLookups runs lookups, one after another, until none is waiting.
func (r *Resolver) runLookups() {
	for q := r.nextLookup(); q != nil; q = r.nextLookup() {
		groups, known, err := r.Cached(q.user) // an earlier lookup may have been cached since
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

// nextLookup returns the next waiting lookup; nil: there is none, and the worker ends.
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

// query calls the source and normalizes the groups.
func (r *Resolver) query(q *lookup) (a result) {
	ctx, cancel := context.WithDeadline(r.lifetime.ctx, q.deadline)
	defer cancel()
	defer func() {
		// A Source parses data of the network with third-party code.
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
	case !time.Now().Before(q.deadline): // a dialer may time out before ctx does
		return result{err: fmt.Errorf("%s: no answer within %s", r.source, r.opt.Timeout)}
	}
	return result{err: fmt.Errorf("%s: %w", r.source, truncateError(err))}
}

// truncateError returns err with at most 1 KiB of its text: a server may send any length (ACL-33).
func truncateError(err error) error {
	const longest = 1 << 10
	if text := err.Error(); len(text) > longest {
		return errors.New(strings.ToValidUTF8(text[:longest], "") + "...")
	}
	return err
}

// cacheResult caches a result and deletes expired ones, which nothing else does.
func (r *Resolver) cacheResult(q *lookup, a result) {
	if r.lifetime.ctx.Err() != nil {
		return // the lookup failed because the Resolver was closed
	}
	ttl := resultTTL
	if a.err != nil {
		ttl = failureTTL
	}
	r.cache.DeleteExpired()
	r.cache.Set(q.user, a, ttl)
}

// finish ends a lookup and returns the callbacks to call, none after the lifetime has ended.
func (r *Resolver) finish(q *lookup) []func([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, q.user)
	if r.lifetime.ctx.Err() != nil {
		return nil
	}
	return q.callbacks
}
