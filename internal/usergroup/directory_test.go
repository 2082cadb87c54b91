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

// source is a Source that does as it is told.
type source struct {
	groups func(ctx context.Context, user string) ([]string, error)
	asked  atomic.Int64
	within atomic.Int64 // questions under way
	most   atomic.Int64
}

func (s *source) String() string { return "source" }

func (s *source) Groups(ctx context.Context, user string) ([]string, error) {
	s.asked.Add(1)
	if n := s.within.Add(1); n > s.most.Load() {
		s.most.Store(n)
	}
	defer s.within.Add(-1)
	return s.groups(ctx, user)
}

func says(groups ...string) func(context.Context, string) ([]string, error) {
	return func(context.Context, string) ([]string, error) { return groups, nil }
}

func fails(text string) func(context.Context, string) ([]string, error) {
	return func(context.Context, string) ([]string, error) { return nil, errors.New(text) }
}

// hangs gives no answer.
func hangs(ctx context.Context, _ string) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// told is what callers heard, by what they asked.
type told struct {
	mu    sync.Mutex
	heard map[string]string
	times map[string]int
}

func (a *told) as(name string) func([]string, error) {
	return func(groups []string, err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.heard == nil {
			a.heard, a.times = map[string]string{}, map[string]int{}
		}
		a.times[name]++
		a.heard[name] = fmt.Sprint(groups)
		if err != nil {
			a.heard[name] = err.Error()
		}
	}
}

func (a *told) says(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard[name]
}

// count is how many times name was told; empty: how many different names were.
func (a *told) count(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if name == "" {
		return len(a.times)
	}
	return a.times[name]
}

// inBubble runs a test with a Directory of s on virtual time.
func inBubble(t *testing.T, s *source, opt Options, f func(t *testing.T, d *Directory, a *told)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := NewDirectory(s, opt)
		t.Cleanup(d.Close)
		f(t, d, &told{})
	})
}

func TestAnAnswerIsGoodForFiveMinutes(t *testing.T) {
	s := &source{groups: says("ops", "dev", "", "ops", "bad\xff", "dev\x00s", "a\nb")}
	inBubble(t, s, Options{}, func(t *testing.T, d *Directory, a *told) {
		_, ok, _ := d.Known("ann")
		assert.Assert(t, !ok)
		d.Find("ann", a.as("first"))
		synctest.Wait()
		assert.Equal(t, a.says("first"), "[dev ops]", "in order, each once, and only what can be shown")

		time.Sleep(299 * time.Second)
		groups, ok, err := d.Known("ann")
		assert.NilError(t, err)
		assert.Assert(t, ok, "9.4.3: 300 seconds")
		assert.DeepEqual(t, groups, []string{"dev", "ops"})
		d.Find("ann", a.as("again"))
		synctest.Wait()
		assert.Equal(t, a.says("again"), "[dev ops]")
		assert.Equal(t, s.asked.Load(), int64(1))

		time.Sleep(2 * time.Second)
		_, ok, _ = d.Known("ann")
		assert.Assert(t, !ok, "to be asked about does not keep an answer alive")
	})
}

func TestAFailureIsGoodForHalfAMinute(t *testing.T) {
	s := &source{groups: fails("no such user")}
	inBubble(t, s, Options{}, func(t *testing.T, d *Directory, a *told) {
		d.Find("ann", a.as("ann"))
		synctest.Wait()
		assert.Equal(t, a.says("ann"), "source: no such user")
		time.Sleep(29 * time.Second)
		_, ok, err := d.Known("ann")
		assert.Assert(t, ok)
		assert.Error(t, err, "source: no such user")
		time.Sleep(2 * time.Second)
		_, ok, _ = d.Known("ann")
		assert.Assert(t, !ok, "9.4.3: 30 seconds")
	})
}

func TestManyWhoAskAboutOneUserAreOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		s := &source{groups: func(context.Context, string) ([]string, error) { <-let; return []string{"dev"}, nil }}
		d, a := NewDirectory(s, Options{}), &told{}
		t.Cleanup(d.Close)
		for range 100 {
			d.Find("ann", a.as("ann"))
		}
		d.Find("bob", a.as("bob"))
		synctest.Wait()
		assert.Equal(t, s.asked.Load(), int64(2), "one about each user")
		close(let)
		synctest.Wait()
		assert.Equal(t, a.count("ann"), 100)
		assert.Equal(t, a.count("bob"), 1)
	})
}

// Whoever waits for a turn waits no longer than the time-out either.
func TestASourceThatHangsMakesNobodyWaitLonger(t *testing.T) {
	s := &source{groups: hangs}
	inBubble(t, s, Options{Timeout: 2 * time.Second, Askers: 3}, func(t *testing.T, d *Directory, a *told) {
		for i := range 50 {
			d.Find(fmt.Sprint("u", i), a.as(fmt.Sprint("u", i)))
		}
		synctest.Wait()
		assert.Equal(t, s.within.Load(), int64(3), "as many as may be asked at the same time")
		time.Sleep(2*time.Second - 1)
		synctest.Wait()
		assert.Equal(t, a.count(""), 0)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, a.count(""), 50)
		assert.Equal(t, a.says("u49"), "source: no answer within 2s")
		assert.Equal(t, s.most.Load(), int64(3))
	})
}

// A source that has a clock of its own may be the first to notice.
func TestATimeOutIsCalledSoWhoeverNoticesIt(t *testing.T) {
	s := &source{groups: func(ctx context.Context, _ string) ([]string, error) {
		until, _ := ctx.Deadline()
		<-time.After(time.Until(until))
		return nil, errors.New("dial tcp: i/o timeout")
	}}
	for range 20 { // in virtual time both are at once, and either may be first
		inBubble(t, s, Options{}, func(t *testing.T, d *Directory, a *told) {
			d.Find("ann", a.as("ann"))
			time.Sleep(DefaultTimeout)
			synctest.Wait()
			assert.Equal(t, a.says("ann"), "source: no answer within 5s")
		})
	}
}

func TestOneUserWhoHangsIsNotInTheWayOfOthers(t *testing.T) {
	s := &source{}
	s.groups = func(ctx context.Context, user string) ([]string, error) {
		if user == "slow" {
			return hangs(ctx, user)
		}
		return []string{user + "s"}, nil
	}
	inBubble(t, s, Options{}, func(t *testing.T, d *Directory, a *told) {
		d.Find("slow", a.as("slow"))
		d.Find("ann", a.as("ann"))
		synctest.Wait()
		assert.Equal(t, a.says("ann"), "[anns]")
		assert.Equal(t, a.says("slow"), "")
		time.Sleep(DefaultTimeout)
		synctest.Wait()
		assert.Equal(t, a.says("slow"), "source: no answer within 5s")
	})
}

func TestAfterCloseNobodyIsTold(t *testing.T) {
	s := &source{groups: hangs}
	inBubble(t, s, Options{Askers: 1}, func(t *testing.T, d *Directory, a *told) {
		d.Find("ann", a.as("ann"))
		d.Find("bob", a.as("bob"))
		synctest.Wait()
		before := time.Now()
		d.Close()
		assert.Equal(t, time.Since(before), time.Duration(0), "the source is not waited for")
		d.Find("eve", a.as("eve"))
		synctest.Wait()
		assert.Equal(t, a.count(""), 0)
		assert.Equal(t, s.asked.Load(), int64(1))
	})
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	s := &source{groups: says("dev")}
	inBubble(t, s, Options{Known: 10}, func(t *testing.T, d *Directory, a *told) {
		for i := range 100 {
			d.Find(fmt.Sprint("u", i), a.as("all"))
		}
		synctest.Wait()
		known := 0
		for i := range 100 {
			if _, ok, _ := d.Known(fmt.Sprint("u", i)); ok {
				known++
			}
		}
		assert.Equal(t, known, 10)
		assert.Equal(t, a.count("all"), 100)
	})
}

// Groups may be many and long, so their number of users says little about what they take.
func TestWhatIsRememberedIsBoundedInBytes(t *testing.T) {
	long := strings.Repeat("g", 1000)
	s := &source{groups: func(_ context.Context, user string) ([]string, error) { return []string{user, long}, nil }}
	inBubble(t, s, Options{Bytes: 5 * 1500, Askers: 1}, func(t *testing.T, d *Directory, a *told) {
		for i := range 50 {
			d.Find(fmt.Sprint("u", i), a.as("all"))
		}
		synctest.Wait()
		assert.Equal(t, a.count("all"), 50)
		assert.Equal(t, d.known.Len(), 5)
		_, ok, _ := d.Known("u49")
		assert.Assert(t, ok, "the latest is remembered")
	})
	inBubble(t, s, Options{Bytes: 1000}, func(t *testing.T, d *Directory, a *told) {
		d.Find("ann", a.as("ann"))
		synctest.Wait()
		assert.Equal(t, a.says("ann"), "[ann "+long+"]", "an answer too long to be remembered is one")
		assert.Equal(t, d.known.Len(), 0)
	})
}

// Nothing cleans up while nobody asks, but what is not good any more makes room first.
func TestWhatIsNotGoodAnyMoreIsForgotten(t *testing.T) {
	s := &source{groups: says("dev")}
	inBubble(t, s, Options{}, func(t *testing.T, d *Directory, a *told) {
		for i := range 100 {
			d.Find(fmt.Sprint("u", i), a.as("all"))
		}
		time.Sleep(goodFor + time.Second)
		d.Find("ann", a.as("ann"))
		synctest.Wait()
		assert.Equal(t, d.known.Metrics().Evictions, uint64(100))
		assert.Equal(t, d.known.Len(), 1)
	})
}

func TestTooManyGroupsAreAFailure(t *testing.T) {
	s := &source{groups: func(context.Context, string) (groups []string, err error) {
		for i := range security.MaxGroups + 1 {
			groups = append(groups, fmt.Sprint("g", i))
		}
		return groups, nil
	}}
	inBubble(t, s, Options{}, func(t *testing.T, d *Directory, a *told) {
		d.Find("ann", a.as("ann"))
		synctest.Wait()
		assert.Equal(t, a.says("ann"), "source: the user has 4097 groups, at most 4096 are allowed")
	})
}

// A server may put anything in an error. It is remembered, told, and logged.
func TestAFailureIsNotALongStory(t *testing.T) {
	s := &source{groups: fails(strings.Repeat("why ä ", 1<<16))}
	inBubble(t, s, Options{}, func(t *testing.T, d *Directory, a *told) {
		d.Find("ann", a.as("ann"))
		synctest.Wait()
		assert.Assert(t, strings.HasPrefix(a.says("ann"), "source: why ä why ä "))
		assert.Assert(t, len(a.says("ann")) < 1100 && utf8.ValidString(a.says("ann")), "%d", len(a.says("ann")))
	})
}

func TestABrokenAnswerIsAFailure(t *testing.T) {
	s := &source{groups: func(context.Context, string) ([]string, error) { panic("index out of range") }}
	inBubble(t, s, Options{}, func(t *testing.T, d *Directory, a *told) {
		d.Find("ann", a.as("ann"))
		synctest.Wait()
		assert.Equal(t, a.says("ann"), "source: broken answer: index out of range")
	})
}
