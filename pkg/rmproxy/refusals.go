package rmproxy

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jellydator/ttlcache/v3"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Refusal is a reason for which a linked shim has refused nodes for an ask (NOD-42).
type Refusal struct {
	Text  string    // of the error of Predicates
	Last  time.Time // when it was given last
	Count int       // how often it was given; at least 1
}

// Bounds of the refusals that are kept.
const (
	maxRefusedAsks  = 10_000 // the ask that was refused or asked for longest ago is forgotten first
	maxRefusalTexts = 8      // of an ask: of more, the one that was given longest ago is forgotten
)

// refusals are the reasons for which a linked shim has refused nodes for pending asks. The texts reach no user by
// another way, and to a decision a refusal is one bit.
type refusals struct {
	any   atomic.Bool // there was one
	mu    sync.Mutex  // an entry is read and replaced in one step
	byAsk *ttlcache.Cache[partitionKey, []Refusal]
}

func newRefusals() *refusals {
	return &refusals{byAsk: ttlcache.New(ttlcache.WithCapacity[partitionKey, []Refusal](maxRefusedAsks))}
}

// add counts a refusal with a text.
func (f *refusals) add(ask partitionKey, text string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.any.Store(true)
	var all []Refusal
	if item := f.byAsk.Get(ask); item != nil {
		all = slices.Clone(item.Value()) // of may have returned the slice
	}
	i := slices.IndexFunc(all, func(r Refusal) bool { return r.Text == text })
	switch {
	case i >= 0:
		r := all[i]
		r.Last, r.Count = now, r.Count+1
		all = append(slices.Delete(all, i, i+1), r)
	case len(all) == maxRefusalTexts:
		all = append(slices.Delete(all, 0, 1), Refusal{text, now, 1})
	default:
		all = append(all, Refusal{text, now, 1})
	}
	f.byAsk.Set(ask, all, ttlcache.NoTTL)
}

// forget drops the refusals of an ask that waits no more.
func (f *refusals) forget(ask partitionKey) {
	if !f.any.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byAsk.Delete(ask)
}

// of are the refusals of an ask, the one that was given last at the end. The caller must not change them.
func (f *refusals) of(ask partitionKey) []Refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	if item := f.byAsk.Get(ask); item != nil {
		return item.Value()
	}
	return nil
}

// Refusals are the reasons for which the registered, linked shim has refused nodes for a pending ask, the one that was
// given last at the end (NOD-42); nil: there are none, or the shim is not linked. Any goroutine may call it.
func (p *Proxy) Refusals(partition string, ask objects.AllocationKey) []Refusal {
	s := p.current()
	if s == nil || s.shim == nil {
		return nil
	}
	return s.shim.refusals.of(partitionKey{partition, ask})
}

// accepted reports whether err, the answer of the shim about a node for an ask, accepts it. A refusal is recorded; an
// ask with an accepted node is about to be placed.
func (s *session) accepted(partition string, ask objects.AllocationKey, err error) bool {
	if err == nil {
		s.shim.refusals.forget(partitionKey{partition, ask})
		return true
	}
	s.shim.refusals.add(partitionKey{partition, ask}, reason(err.Error()), s.p.clock())
	return false
}
