package usergroup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// fakeSource is a Source with a function for Groups; it counts calls.
type fakeSource struct {
	groups     func(ctx context.Context, user string) ([]string, error)
	queries    atomic.Int64
	running    atomic.Int64 // running calls of Groups
	maxRunning atomic.Int64
}

func (s *fakeSource) String() string { return "source" }

func (s *fakeSource) Groups(ctx context.Context, user string) ([]string, error) {
	s.queries.Add(1)
	if n := s.running.Add(1); n > s.maxRunning.Load() {
		s.maxRunning.Store(n)
	}
	defer s.running.Add(-1)
	return s.groups(ctx, user)
}

func returnGroups(groups ...string) func(context.Context, string) ([]string, error) {
	return func(context.Context, string) ([]string, error) { return groups, nil }
}

func returnError(text string) func(context.Context, string) ([]string, error) {
	return func(context.Context, string) ([]string, error) { return nil, errors.New(text) }
}

// neverReturn returns when ctx ends.
func neverReturn(ctx context.Context, _ string) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// resultRecorder records the results of callbacks, by the name of the callback.
type resultRecorder struct {
	mu      sync.Mutex
	results map[string]string
	counts  map[string]int
}

func (a *resultRecorder) callback(name string) func([]string, error) {
	return func(groups []string, err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.results == nil {
			a.results, a.counts = map[string]string{}, map[string]int{}
		}
		a.counts[name]++
		a.results[name] = fmt.Sprint(groups)
		if err != nil {
			a.results[name] = err.Error()
		}
	}
}

func (a *resultRecorder) result(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.results[name]
}

// count returns how often the callback of name was called; empty: for how many names.
func (a *resultRecorder) count(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if name == "" {
		return len(a.counts)
	}
	return a.counts[name]
}

// withResolver runs a test with a Resolver of s on virtual time.
func withResolver(t *testing.T, s *fakeSource, opt Options, f func(t *testing.T, d *Resolver, a *resultRecorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := NewResolver(s, opt)
		t.Cleanup(d.Close)
		f(t, d, &resultRecorder{})
	})
}

func TestResolver_CachesResultFiveMinutes(t *testing.T) {
	s := &fakeSource{groups: returnGroups("ops", "dev", "", "ops", "bad\xff", "dev\x00s", "a\nb")}
	withResolver(t, s, Options{}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		_, ok, _ := d.Cached("ann")
		assert.Assert(t, !ok)
		d.Resolve("ann", a.callback("first"))
		synctest.Wait()
		assert.Equal(t, a.result("first"), "[dev ops]", "sorted, unique, and printable names only")

		time.Sleep(299 * time.Second)
		groups, ok, err := d.Cached("ann")
		assert.NilError(t, err)
		assert.Assert(t, ok, "ACL-28: cached for 300 seconds")
		assert.DeepEqual(t, groups, []string{"dev", "ops"})
		d.Resolve("ann", a.callback("again"))
		synctest.Wait()
		assert.Equal(t, a.result("again"), "[dev ops]")
		assert.Equal(t, s.queries.Load(), int64(1))

		time.Sleep(2 * time.Second)
		_, ok, _ = d.Cached("ann")
		assert.Assert(t, !ok, "a read does not extend the time to live")
	})
}

func TestResolver_CachesFailureThirtySeconds(t *testing.T) {
	s := &fakeSource{groups: returnError("no such user")}
	withResolver(t, s, Options{}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		d.Resolve("ann", a.callback("ann"))
		synctest.Wait()
		assert.Equal(t, a.result("ann"), "source: no such user")
		time.Sleep(29 * time.Second)
		_, ok, err := d.Cached("ann")
		assert.Assert(t, ok)
		assert.Error(t, err, "source: no such user")
		time.Sleep(2 * time.Second)
		_, ok, _ = d.Cached("ann")
		assert.Assert(t, !ok, "ACL-28: a failure is cached for 30 seconds")
	})
}

func TestResolver_CoalescesLookupsOfOneUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &fakeSource{groups: func(context.Context, string) ([]string, error) { <-release; return []string{"dev"}, nil }}
		d, a := NewResolver(s, Options{}), &resultRecorder{}
		t.Cleanup(d.Close)
		for range 100 {
			d.Resolve("ann", a.callback("ann"))
		}
		d.Resolve("bob", a.callback("bob"))
		synctest.Wait()
		assert.Equal(t, s.queries.Load(), int64(2), "one lookup per user")
		close(release)
		synctest.Wait()
		assert.Equal(t, a.count("ann"), 100)
		assert.Equal(t, a.count("bob"), 1)
	})
}

// Waiting for a worker counts in the time-out.
func TestResolver_HangingSourceTimesOut(t *testing.T) {
	s := &fakeSource{groups: neverReturn}
	withResolver(t, s, Options{Timeout: 2 * time.Second, Workers: 3}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		for i := range 50 {
			d.Resolve(fmt.Sprint("u", i), a.callback(fmt.Sprint("u", i)))
		}
		synctest.Wait()
		assert.Equal(t, s.running.Load(), int64(3), "lookups at the same time are bounded by Workers")
		time.Sleep(2*time.Second - 1)
		synctest.Wait()
		assert.Equal(t, a.count(""), 0)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, a.count(""), 50)
		assert.Equal(t, a.result("u49"), "source: no answer within 2s")
		assert.Equal(t, s.maxRunning.Load(), int64(3))
	})
}

// A time-out of the source itself has the same text as one of the Resolver.
func TestResolver_TimeoutErrorIsUniform(t *testing.T) {
	s := &fakeSource{groups: func(ctx context.Context, _ string) ([]string, error) {
		until, _ := ctx.Deadline()
		<-time.After(time.Until(until))
		return nil, errors.New("dial tcp: i/o timeout")
	}}
	for range 20 { // in virtual time both happen at the same instant, in any order
		withResolver(t, s, Options{}, func(t *testing.T, d *Resolver, a *resultRecorder) {
			d.Resolve("ann", a.callback("ann"))
			time.Sleep(DefaultTimeout)
			synctest.Wait()
			assert.Equal(t, a.result("ann"), "source: no answer within 5s")
		})
	}
}

func TestResolver_HangingLookupDoesNotBlockOthers(t *testing.T) {
	s := &fakeSource{}
	s.groups = func(ctx context.Context, user string) ([]string, error) {
		if user == "slow" {
			return neverReturn(ctx, user)
		}
		return []string{user + "s"}, nil
	}
	withResolver(t, s, Options{}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		d.Resolve("slow", a.callback("slow"))
		d.Resolve("ann", a.callback("ann"))
		synctest.Wait()
		assert.Equal(t, a.result("ann"), "[anns]")
		assert.Equal(t, a.result("slow"), "")
		time.Sleep(DefaultTimeout)
		synctest.Wait()
		assert.Equal(t, a.result("slow"), "source: no answer within 5s")
	})
}

func TestResolver_NoCallbackAfterClose(t *testing.T) {
	s := &fakeSource{groups: neverReturn}
	withResolver(t, s, Options{Workers: 1}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		d.Resolve("ann", a.callback("ann"))
		d.Resolve("bob", a.callback("bob"))
		synctest.Wait()
		before := time.Now()
		d.Close()
		assert.Equal(t, time.Since(before), time.Duration(0), "Close waited for the source")
		d.Resolve("eve", a.callback("eve"))
		synctest.Wait()
		assert.Equal(t, a.count(""), 0)
		assert.Equal(t, s.queries.Load(), int64(1))
	})
}

func TestResolver_CacheIsBoundedByUsers(t *testing.T) {
	s := &fakeSource{groups: returnGroups("dev")}
	withResolver(t, s, Options{MaxCachedUsers: 10}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		for i := range 100 {
			d.Resolve(fmt.Sprint("u", i), a.callback("all"))
		}
		synctest.Wait()
		known := 0
		for i := range 100 {
			if _, ok, _ := d.Cached(fmt.Sprint("u", i)); ok {
				known++
			}
		}
		assert.Equal(t, known, 10)
		assert.Equal(t, a.count("all"), 100)
	})
}

// Groups may be many and long, so the number of users does not bound the memory.
func TestResolver_CacheIsBoundedInBytes(t *testing.T) {
	long := strings.Repeat("g", 1000)
	s := &fakeSource{groups: func(_ context.Context, user string) ([]string, error) { return []string{user, long}, nil }}
	withResolver(t, s, Options{MaxCachedBytes: 5 * 1500, Workers: 1}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		for i := range 50 {
			d.Resolve(fmt.Sprint("u", i), a.callback("all"))
		}
		synctest.Wait()
		assert.Equal(t, a.count("all"), 50)
		assert.Equal(t, d.cache.Len(), 5)
		_, ok, _ := d.Cached("u49")
		assert.Assert(t, ok, "the latest result is cached")
	})
	withResolver(t, s, Options{MaxCachedBytes: 1000}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		d.Resolve("ann", a.callback("ann"))
		synctest.Wait()
		assert.Equal(t, a.result("ann"), "[ann "+long+"]", "a result that is too large for the cache is delivered")
		assert.Equal(t, d.cache.Len(), 0)
	})
}

// Expired results are deleted when the next result is added.
func TestResolver_ExpiredResultsAreEvicted(t *testing.T) {
	s := &fakeSource{groups: returnGroups("dev")}
	withResolver(t, s, Options{}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		for i := range 100 {
			d.Resolve(fmt.Sprint("u", i), a.callback("all"))
		}
		time.Sleep(resultTTL + time.Second)
		d.Resolve("ann", a.callback("ann"))
		synctest.Wait()
		assert.Equal(t, d.cache.Metrics().Evictions, uint64(100))
		assert.Equal(t, d.cache.Len(), 1)
	})
}

func TestResolver_TooManyGroupsIsAnError(t *testing.T) {
	s := &fakeSource{groups: func(context.Context, string) (groups []string, err error) {
		for i := range security.MaxGroups + 1 {
			groups = append(groups, fmt.Sprint("g", i))
		}
		return groups, nil
	}}
	withResolver(t, s, Options{}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		d.Resolve("ann", a.callback("ann"))
		synctest.Wait()
		assert.Equal(t, a.result("ann"), "source: the user has 4097 groups, at most 4096 are allowed")
	})
}

// A server may send an error of any length, which is cached, returned and logged.
func TestResolver_TruncatesErrors(t *testing.T) {
	s := &fakeSource{groups: returnError(strings.Repeat("why ä ", 1<<16))}
	withResolver(t, s, Options{}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		d.Resolve("ann", a.callback("ann"))
		synctest.Wait()
		assert.Assert(t, strings.HasPrefix(a.result("ann"), "source: why ä why ä "))
		assert.Assert(t, len(a.result("ann")) < 1100 && utf8.ValidString(a.result("ann")), "%d", len(a.result("ann")))
	})
}

func TestResolver_SourcePanicIsAnError(t *testing.T) {
	s := &fakeSource{groups: func(context.Context, string) ([]string, error) { panic("index out of range") }}
	withResolver(t, s, Options{}, func(t *testing.T, d *Resolver, a *resultRecorder) {
		d.Resolve("ann", a.callback("ann"))
		synctest.Wait()
		assert.Equal(t, a.result("ann"), "source: broken answer: index out of range")
	})
}
