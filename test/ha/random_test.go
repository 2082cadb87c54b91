package ha

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
)

// Random faults of members and of etcd while tasks are submitted: every task is placed once, none is lost, and no
// member answers in an epoch that is over. CANOPY_HA_SEED repeats a run; what the machine does meanwhile differs.
func TestGroup_RandomFaults(t *testing.T) {
	random := newRandom(t)
	g := newGroup(t, 3)
	p := newProbe(g)
	_, epoch := p.leaderAfter(g, 0, electedWithin)
	s := newShim(g)
	rounds, submitted, faults := testscale.Runs(50), 0, map[string]int{}
	for round := range rounds {
		f := drawFault(random, drawVictim(t, random, g, p, epoch))
		t.Logf("round %d: %s", round, f)
		faults[f.kind]++
		s.submit(tasks(fmt.Sprint("r", round), 20)...)
		f.happen(g, func(pause time.Duration) {
			s.wait(pause)
			s.submit(tasks(fmt.Sprint("s", round), 20)...)
			submitted += 20
		})
		submitted += 20
		until(t, 2*placedWithin, s.allPlaced)
		epoch = p.last().epoch
	}
	checkShim(t, s, submitted)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
	t.Logf("%d tasks, %v, the last epoch is %d", submitted, faults, epoch)
}

// newRandom is a source of faults; CANOPY_HA_SEED sets its seed.
func newRandom(t *testing.T) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("CANOPY_HA_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 17))
}

// fault is one that happens to a member or to etcd.
type fault struct {
	kind   string // kill, stop, end, etcd killed, etcd stopped
	victim *member
	pause  time.Duration // how long what is stopped or killed stays so
}

// String is for the log.
func (f fault) String() string {
	return fmt.Sprintf("%s, %s, for %v", f.kind, f.victim.name, f.pause.Round(time.Millisecond))
}

func drawFault(random *rand.Rand, victim *member) fault {
	kinds := []string{"kill", "stop", "end", "etcd killed", "etcd stopped"}
	return fault{kinds[random.IntN(len(kinds))], victim, time.Duration(random.Int64N(int64(2 * ttl)))}
}

// drawVictim waits for a leader with at least an epoch. In three of four cases it is the victim.
func drawVictim(t *testing.T, random *rand.Rand, g *group, p *probe, epoch int64) *member {
	t.Helper()
	leader, _ := p.leaderAfter(g, epoch-1, electedWithin)
	if random.IntN(4) == 0 {
		return g.members[random.IntN(len(g.members))]
	}
	return leader
}

// happen makes the fault, and what it took away is back at the end. meanwhile runs while it is away.
func (f fault) happen(g *group, meanwhile func(time.Duration)) {
	g.t.Helper()
	switch f.kind {
	case "kill":
		g.kill(f.victim)
		meanwhile(f.pause / 4)
		g.start(f.victim)
	case "stop":
		assert.NilError(g.t, f.victim.Signal(syscall.SIGSTOP))
		meanwhile(f.pause)
		assert.NilError(g.t, f.victim.Signal(syscall.SIGCONT))
	case "end":
		assert.NilError(g.t, f.victim.Stop())
		meanwhile(f.pause / 4)
		g.start(f.victim)
	case "etcd killed":
		g.etcd.kill()
		meanwhile(f.pause)
		g.etcd.start(g.t)
	case "etcd stopped":
		assert.NilError(g.t, g.etcd.cmd.Process.Signal(syscall.SIGSTOP))
		meanwhile(f.pause)
		assert.NilError(g.t, g.etcd.cmd.Process.Signal(syscall.SIGCONT))
	}
}

// wait lets time pass for the other processes, whose faults last so long.
func (s *shim) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.done:
	}
}
