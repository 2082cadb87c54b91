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

	"github.com/canopy-scheduler/canopy/internal/testscale"
)

// Random faults of members and of etcd while tasks are submitted: every task is placed once, none is lost, and no member answers
// in an epoch that is over. CANOPY_HA_SEED repeats a run; what the machine does meanwhile differs.
func TestGroup_RandomFaults(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("CANOPY_HA_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 17))
	g := newGroup(t, 3)
	p := newProbe(g)
	_, epoch := p.leaderAfter(g, 0, electedWithin)
	s := newShim(g)
	rounds, submitted, faults := testscale.Runs(50), 0, map[string]int{}
	for round := range rounds {
		leader, _ := p.leaderAfter(g, epoch-1, electedWithin)
		victim := leader
		if random.IntN(4) == 0 {
			victim = g.members[random.IntN(len(g.members))]
		}
		fault := []string{"kill", "stop", "end", "etcd killed", "etcd stopped"}[random.IntN(5)]
		t.Logf("round %d: %s, %s, the leader is %s", round, fault, victim.name, leader.name)
		faults[fault]++
		s.submit(tasks(fmt.Sprint("r", round), 20)...)
		pause := time.Duration(random.Int64N(int64(2 * ttl)))
		switch fault {
		case "kill":
			g.kill(victim)
			s.wait(pause / 4)
			g.start(victim)
		case "stop":
			assert.NilError(t, victim.Signal(syscall.SIGSTOP))
			s.wait(pause)
			s.submit(tasks(fmt.Sprint("s", round), 20)...)
			submitted += 20
			assert.NilError(t, victim.Signal(syscall.SIGCONT))
		case "end":
			assert.NilError(t, victim.Stop())
			g.start(victim)
		case "etcd killed":
			g.etcd.kill()
			s.wait(pause)
			g.etcd.start(t)
		case "etcd stopped":
			assert.NilError(t, g.etcd.cmd.Process.Signal(syscall.SIGSTOP))
			s.wait(pause)
			assert.NilError(t, g.etcd.cmd.Process.Signal(syscall.SIGCONT))
		}
		submitted += 20
		until(t, 2*placedWithin, s.allPlaced)
		epoch = p.last().epoch
	}
	checkShim(t, s, submitted)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
	t.Logf("%d tasks, %v, the last epoch is %d", submitted, faults, epoch)
}

// wait lets time pass for the other processes, whose faults last so long.
func (s *shim) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.done:
	}
}
