package ha

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// mayChangeClock is the environment variable without which no test changes the clock of the machine.
const mayChangeClock = "CANOPY_SET_CLOCK"

// A clock that is set, forwards or backwards and by much more than a lease lasts, neither ends a term nor makes one
// longer.
func TestGroup_ClockIsSet(t *testing.T) {
	if os.Getenv(mayChangeClock) != "1" {
		t.Skipf("it sets the clock of the machine for some seconds: allow it by %s=1, as root", mayChangeClock)
	}
	g := newGroup(t, 3)
	p := newProbe(g)
	leader, epoch := p.leaderAfter(g, 0, electedWithin)
	s := newShim(g)
	begun, wall := time.Now(), time.Now().Round(0) // of begun only the monotonic reading is used
	jump := func(by time.Duration) {
		t.Helper()
		now := syscall.NsecToTimeval(wall.Add(time.Since(begun) + by).UnixNano())
		assert.NilError(t, syscall.Settimeofday(&now))
	}
	t.Cleanup(func() { jump(0) })
	for i, by := range []time.Duration{90 * time.Second, -90 * time.Second, 0} {
		jump(by)
		s.submit(tasks(fmt.Sprint("jump", i), 50)...)
		s.wait(2 * ttl)
		checkShim(t, s, 50*(i+1))
		assert.Equal(t, p.last().epoch, epoch, "after a jump to %v the leader has changed", by)
	}
	g.kill(leader)
	killed := time.Now()
	jump(90 * time.Second)
	_, _ = p.leaderAfter(g, epoch, electedWithin)
	took := p.last().at.Sub(killed)
	t.Logf("another member served %v after the leader was killed", took.Round(time.Millisecond))
	assert.Assert(t, took > ttl/3 && took < 3*ttl, "%v", took)
	s.submit(tasks("last", 50)...)
	checkShim(t, s, 200)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}
