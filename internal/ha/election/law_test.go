package election_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
)

// fault makes one fault happen, and end by itself.
func (s *simulation) fault() {
	m := s.members[s.random.IntN(len(s.members))]
	if s.random.IntN(2) == 0 { // a leader is what faults are about
		for _, other := range s.members {
			if other.term != nil {
				m = other
			}
		}
	}
	long := time.Duration(s.random.Int64N(int64(2 * ttl)))
	switch s.random.IntN(8) {
	case 0, 1:
		s.note("%s does not reach the store for %v", m.name, long)
		m.unreachable = true
		s.after(long, func() { m.unreachable = false })
	case 2, 3:
		s.note("%s pauses for %v", m.name, long)
		m.pausedUntil = s.now + long
	case 4:
		s.note("the store is not reached for %v", long)
		s.outage = true
		s.after(long, func() { s.outage = false })
	case 5:
		s.note("%s is killed and starts again", m.name)
		if m.term != nil {
			s.counts["killed"]++
			s.forget(m)
		}
		m.start()
	case 6:
		m.whenRunning(func() {
			s.note("%s resigns", m.name)
			m.step(m.candidate.Resign)
			m.resumeLater()
		})
	case 7:
		s.note("the store has another leader")
		s.store.elected()
	}
}

// forget removes the terms of a member whose process has ended: it sends nothing.
func (s *simulation) forget(m *memberModel) {
	kept := s.terms[:0]
	for _, t := range s.terms {
		if t.member != m {
			kept = append(kept, t)
		}
	}
	s.terms = kept
}

// chaos has faults happen until a time.
func (s *simulation) chaos(until time.Duration) {
	if s.now >= until {
		return
	}
	s.fault()
	s.after(time.Duration(s.random.Int64N(int64(ttl))), func() { s.chaos(until) })
}

// calm ends all faults.
func (s *simulation) calm() {
	s.note("all faults have ended")
	s.healthy, s.outage = true, false
	for _, m := range s.members {
		m.unreachable, m.pausedUntil = false, min(m.pausedUntil, s.now)
	}
}

// TestLaw_AtMostOneMemberMaySend is the law of the package, and that a group without faults has a leader and keeps it.
// A run is repeated by CANOPY_ELECTION_SEED, which also prints it.
func TestLaw_AtMostOneMemberMaySend(t *testing.T) {
	first, runs := uint64(1), testscale.Runs(10_000)
	if seed, err := strconv.ParseUint(os.Getenv("CANOPY_ELECTION_SEED"), 10, 64); err == nil {
		first, runs = seed, 1
	}
	total := map[string]int{}
	for seed := first; seed < first+uint64(runs); seed++ {
		s := newSimulation(seed, 2+int(seed%3))
		s.after(0, func() { s.chaos(chaosTime) })
		s.run(chaosTime)
		s.calm()
		s.run(chaosTime + electWithin)
		terms := s.counts["term"]
		if s.leading() != 1 {
			s.problem("%d members lead %v after the last fault", s.leading(), electWithin)
		}
		s.run(chaosTime + electWithin + calmTime)
		if s.counts["term"] != terms || s.leading() != 1 {
			s.problem("the leader has changed without a fault")
		}
		if len(s.problems) > 0 || runs == 1 {
			t.Log(s.history())
		}
		if len(s.problems) > 0 {
			t.Fatalf("seed %d: %s", seed, s.problems[0])
		}
		for what, n := range s.counts {
			total[what] += n
		}
	}
	t.Log(total)
	if runs == 1 {
		return
	}
	for _, what := range []string{"term", "successor at once", "killed",
		"the lease could not be renewed before the deadline", "the member has resigned"} {
		assert.Check(t, total[what] >= runs/50,
			fmt.Sprintf("%q has happened only %d times in %d runs", what, total[what], runs))
	}
}
