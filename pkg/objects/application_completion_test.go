package objects

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// makeIdle adds an ask to an application, which it creates if need be, and cancels the ask.
func makeIdle(tb testing.TB, p *Partition, id AppID, now time.Time) {
	tb.Helper()
	if _, ok := p.Application(id); !ok {
		assert.NilError(tb, p.AddApplication(id, security.User{Name: "ann"}, "root.leaf", nil, now))
	}
	_, err := p.AddAsk(&Ask{Key: AllocationKey(id), App: id, Amounts: vcores(1)}, now)
	assert.NilError(tb, err)
	p.Cancel(AllocationKey(id), now)
	assert.NilError(tb, p.Check())
}

func stateChangesText(entered []ApplicationStateChange) string {
	var b strings.Builder
	for _, e := range entered {
		fmt.Fprintf(&b, "%s %s; ", e.App, e.State)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// There may be a hundred thousand active applications.
func TestApplication_MemorySize(t *testing.T) {
	// With the header of 8 bytes that the allocator adds, it is in the size class of 768 bytes; the next has 896. The
	// index of up to four ask groups is part of it.
	assert.Assert(t, unsafe.Sizeof(Application{}) <= 760, "%d bytes", unsafe.Sizeof(Application{}))
}

func TestApplicationStates_Deadlines(t *testing.T) {
	p, _, now := leafPartition(t,
		lifecycle.Lifetimes{Completing: time.Minute, Completed: time.Hour, Rejected: 2 * time.Hour, MaxEnded: 10})
	due := func(want time.Duration) {
		t.Helper()
		at, ok := p.NextDeadline()
		assert.Assert(t, ok)
		assert.Equal(t, at, now.Add(want))
		p.Expire(at.Add(-1))
		assert.Equal(t, stateChangesText(p.TakeStateChanges()), "", "nothing happens a nanosecond too early")
		p.Expire(at)
		assert.NilError(t, p.Check())
		now = at
	}
	_, ok := p.NextDeadline()
	assert.Assert(t, !ok, "nothing has a deadline yet")
	makeIdle(t, p, "app", now)
	assert.Equal(t, stateChangesText(p.TakeStateChanges()), "app Accepted; app Completing")
	due(time.Minute)
	assert.Equal(t, stateChangesText(p.TakeStateChanges()), "app Completed")
	p.Reject("other", security.User{}, "root.leaf", "no", now)
	due(time.Hour)
	assert.Equal(t, stateChangesText(p.TakeStateChanges()), "app Expired")
	assert.Equal(t, p.Completed().Len()+p.Rejected().Len(), 1)
	due(time.Hour)
	assert.Equal(t, stateChangesText(p.TakeStateChanges()), "", "an expired rejection is no state change")
	assert.Equal(t, p.Completed().Len()+p.Rejected().Len(), 0)
	_, ok = p.NextDeadline()
	assert.Assert(t, !ok)
}

// An application without an ask completes when Lifetimes.New has passed, and not if its first ask came before (APP-3).
func TestApplicationStates_NewTimeout(t *testing.T) {
	keep := lifecycle.DefaultLifetimes()
	keep.New = time.Minute
	p, _, now := leafPartition(t, keep)
	for _, id := range []AppID{"asks", "removed"} {
		assert.NilError(t, p.AddApplication(id, security.User{}, "root.leaf", nil, now))
	}
	_, err := p.AddAsk(&Ask{Key: "k", App: "asks", Amounts: vcores(1)}, now)
	assert.NilError(t, err)
	_, _, ok := p.RemoveApplication("removed", now)
	assert.Assert(t, ok)
	p.TakeStateChanges()
	at, _ := p.NextDeadline()
	assert.Equal(t, at, now.Add(time.Minute))
	p.Expire(at.Add(-1))
	assert.Equal(t, stateChangesText(p.TakeStateChanges()), "", "nothing happens a nanosecond too early")
	p.Expire(at)
	assert.NilError(t, p.Check())
	assert.Equal(t, stateChangesText(p.TakeStateChanges()), "app Completing; app Completed")
	assert.Equal(t, p.Completed().Len(), 1)
	at, _ = p.NextDeadline()
	assert.Equal(t, at, now.Add(time.Minute+keep.Completed), "the other applications have no deadline")
}

func TestHistory_IsBounded(t *testing.T) {
	keep := lifecycle.DefaultLifetimes()
	keep.Completing, keep.MaxEnded = 0, 3
	p, _, now := leafPartition(t, keep)
	for i := range 5 {
		makeIdle(t, p, AppID(fmt.Sprint("a", i)), now)
		p.Expire(now)
		p.Reject(AppID(fmt.Sprint("r", i)), security.User{}, "root.none", "", now)
	}
	p.Reject("r3", security.User{}, "root.none", "again", now)
	ids := func(ended persistent.List[lifecycle.Ended]) (s string) {
		for e := range ended.All() {
			s += string(e.ID) + " "
		}
		return s
	}
	assert.Equal(t, ids(p.Completed()), "a2 a3 a4 ")
	assert.Equal(t, ids(p.Rejected()), "r2 r4 r3 ", "the newest of an ID is kept, and no other")
	assert.Equal(t, p.Rejected().At(2).Message(), "again")
	assert.NilError(t, p.Check())
}

// An Expired state change would be taken for one of the application that has the ID now.
func TestHistory_ReusedIDExpiresSilently(t *testing.T) {
	p, _, now := leafPartition(t, lifecycle.Lifetimes{Completed: time.Hour, MaxEnded: 10})
	makeIdle(t, p, "app", now)
	p.Expire(now)
	makeIdle(t, p, "app", now.Add(time.Minute))
	p.RemoveApplication("app", now.Add(2*time.Minute))
	assert.NilError(t, p.AddApplication("app", security.User{}, "root.leaf", nil, now.Add(3*time.Minute)))
	_, err := p.AddAsk(&Ask{Key: "k", App: "app", Amounts: vcores(1)}, now.Add(3*time.Minute))
	assert.NilError(t, err)
	p.TakeStateChanges()
	p.Expire(now.Add(time.Hour))
	assert.Equal(t, stateChangesText(p.TakeStateChanges()), "")
	assert.Equal(t, p.Completed().Len(), 1)
	p.RemoveApplication("app", now.Add(time.Hour))
	p.Expire(now.Add(time.Hour + 2*time.Minute))
	assert.Equal(t, stateChangesText(p.TakeStateChanges()), "app Completing; app Completed; app Expired")
}

func TestUnknownApplication_ErrorSaysThatItEnded(t *testing.T) {
	p, _, now := leafPartition(t, lifecycle.DefaultLifetimes())
	makeIdle(t, p, "app", now)
	p.RemoveApplication("app", now)
	_, err := p.AddAsk(&Ask{Key: "k", App: "app", Amounts: vcores(1)}, now)
	assert.Error(t, err, "unknown application app: it was Completed at 2001-09-09T01:46:40Z")
	_, err = p.AddAsk(&Ask{Key: "k", App: "none", Amounts: vcores(1)}, now)
	assert.Error(t, err, "unknown application none")
}
