package gangs_test

import (
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

var begin = time.Unix(1_000_000_000, 0).UTC()

func cores(n resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": n})
}

// Whatever happens to placeholders: the live ones are those that were added and have not ended, a task group holds back
// exactly while it has live ones, and there is a deadline only while there are live ones.
func TestGang_CountsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, live, now := gangs.New(gangs.Spec{Timeout: time.Minute}), map[string]int{}, begin
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"g", "h"}).Draw(t, "task group")
			what := rapid.SampledFrom([]string{"add", "add", "replace", "time out", "end", "start", "expire"}).Draw(t, "what")
			now = now.Add(time.Second)
			held := g.HoldsBack(name)
			changed := false
			switch ends := live[name] > 0; {
			case what == "add":
				changed = g.Add(name, cores(1), now)
				live[name]++
			case what == "start":
				g.Start(now)
			case what == "expire":
				g.Expire()
			case !ends:
			case what == "replace":
				changed = g.Replace(name)
				live[name]--
			case what == "time out":
				changed = g.TimeOut(name)
				live[name]--
			case what == "end":
				changed = g.End(name)
				live[name]--
			}
			assert.Equal(t, g.Live(), live["g"]+live["h"])
			assert.Equal(t, g.HoldsBack(name), live[name] > 0)
			assert.Equal(t, changed, held != g.HoldsBack(name), "a change is reported exactly when there is one")
			assert.Assert(t, g.Deadline().IsZero() || g.Live() > 0 && g.Deadline().After(now.Add(-time.Hour)))
		}
		for _, group := range g.Groups() {
			assert.Assert(t, group.Replaced+group.TimedOut <= group.Count)
			assert.Assert(t, group.MinResources.Equal(cores(1)))
		}
	})
}

func TestGang_MoreEndsThanPlaceholdersPanic(t *testing.T) {
	g := gangs.New(gangs.Spec{})
	assert.Assert(t, panics(func() { g.End("g") }), "it never had a placeholder")
	g.Add("g", cores(1), begin)
	g.Replace("g")
	assert.Assert(t, panics(func() { g.TimeOut("g") }))
}

func panics(f func()) (does bool) {
	defer func() { does = recover() != nil }()
	f()
	return false
}

func TestSpec_StylesAndTimeouts(t *testing.T) {
	for text, want := range map[string]gangs.Style{"Hard": gangs.Hard, "Soft": gangs.Soft, "hard": gangs.Soft,
		"": gangs.Soft, "Firm": gangs.Soft} {
		assert.Equal(t, gangs.StyleOf(text), want, text)
	}
	for ms, want := range map[int64]time.Duration{2000: 2 * time.Second, 0: 0, -1: 0, math.MaxInt64: 0,
		math.MaxInt64 / 1_000_000: math.MaxInt64 / 1_000_000 * time.Millisecond} {
		assert.Equal(t, gangs.TimeoutOf(ms), want, ms)
	}
	assert.Assert(t, !new(gangs.Spec).Declared())
}

// The timeout begins with the first placeholder, and anew with the first that is allocated; an old application has less
// time, and at least a millisecond.
func TestGang_Deadline(t *testing.T) {
	for _, c := range []struct {
		name    string
		spec    gangs.Spec
		want    time.Duration // after the first placeholder
		started time.Duration // after the first allocated one, five seconds later
	}{
		{"two seconds", gangs.Spec{Timeout: 2 * time.Second}, 2 * time.Second, 7 * time.Second},
		{"none declared", gangs.Spec{}, gangs.DefaultTimeout, gangs.DefaultTimeout + 5*time.Second},
		{"created before", gangs.Spec{Timeout: 20 * time.Second, Created: begin.Add(-4 * time.Second)}, 16 * time.Second,
			16 * time.Second},
		{"created long before", gangs.Spec{Timeout: 2 * time.Second, Created: begin.Add(-time.Hour)}, time.Millisecond,
			5*time.Second + time.Millisecond},
		{"created later", gangs.Spec{Timeout: 2 * time.Second, Created: begin.Add(time.Hour)}, 2 * time.Second,
			7 * time.Second},
	} {
		g := gangs.New(c.spec)
		assert.Assert(t, g.Deadline().IsZero() && !g.Start(begin), c.name)
		g.Add("g", cores(1), begin)
		assert.Equal(t, g.Deadline().Sub(begin), c.want, c.name)
		assert.Equal(t, g.Start(begin.Add(5*time.Second)), c.want != c.started, c.name)
		assert.Equal(t, g.Deadline().Sub(begin), c.started, c.name)
		assert.Assert(t, !g.Start(begin.Add(9*time.Second)), "%s: only the first allocated placeholder counts", c.name)
		g.Add("g", cores(1), begin.Add(6*time.Second))
		assert.Equal(t, g.Deadline().Sub(begin), c.started, c.name)
	}
}

// After a timeout, a new placeholder has a timeout of its own.
func TestGang_LaterPlaceholdersHaveTheirTimeout(t *testing.T) {
	g := gangs.New(gangs.Spec{Timeout: time.Minute})
	g.Add("g", cores(1), begin)
	g.Expire()
	assert.Assert(t, g.Deadline().IsZero())
	g.Add("g", cores(1), begin.Add(time.Hour))
	assert.Equal(t, g.Deadline(), begin.Add(time.Hour+time.Minute))
}

func TestGang_Complete(t *testing.T) {
	g := gangs.New(gangs.Spec{Requested: cores(6)})
	assert.Assert(t, !g.Complete(cores(3)))
	assert.Assert(t, g.Complete(cores(6)))
	assert.Assert(t, !gangs.New(gangs.Spec{}).Complete(cores(6)), "nothing is declared")
}
