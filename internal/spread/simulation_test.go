package spread_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/spread"
	"github.com/canopy-scheduler/canopy/internal/spread/memstore"
)

// simulation is a group whose members read, announce and carry out assignments late, die and start again, and of which another one is the
// coordinator now and then, while the former one still takes itself for it.
type simulation struct {
	t          *testing.T
	random     *rand.Rand
	group      memstore.Group
	epoch      int64 // of the coordinator
	members    []*process
	partitions []string          // of the configuration
	leaders    map[string]string // partition -> the member that leads it: the elections, of which each has at most one winner
	loads      map[string]float64
	opt        spread.Options
	moves      int
	counts     map[string]int
}

// process is a process of a member.
type process struct {
	name  string
	alive bool
	store *memstore.Store
	view  spread.State  // as last read
	self  spread.Member // to be announced, as it was at some time
	epoch int64         // in which it takes itself for the coordinator; 0: it does not
}

func newSimulation(t *testing.T, random *rand.Rand) *simulation {
	s := &simulation{
		t: t, random: random, leaders: map[string]string{}, loads: map[string]float64{}, counts: map[string]int{},
		partitions: names(1 + random.IntN(10)), opt: spread.Options{MaxMoves: 1 + random.IntN(2)},
	}
	for i := range 1 + random.IntN(5) {
		p := &process{name: fmt.Sprintf("m%d", i)}
		s.members = append(s.members, p)
		s.start(p)
	}
	for _, p := range names(12) {
		s.loads[p] = 100 * random.Float64() * float64(random.IntN(2))
	}
	s.elect()
	return s
}

func (s *simulation) start(p *process) {
	*p = process{name: p.name, alive: true, store: s.group.Member(), self: spread.Member{Name: p.name}}
}

// elect makes a member the coordinator, if one is alive.
func (s *simulation) elect() {
	alive := slices.DeleteFunc(slices.Clone(s.members), func(p *process) bool { return !p.alive })
	s.epoch = s.group.Elect()
	if len(alive) > 0 {
		alive[s.random.IntN(len(alive))].epoch = s.epoch
	}
}

// read has a process read what is shared, and look at itself.
func (s *simulation) read(p *process) {
	var err error
	p.view, err = p.store.Next(s.t.Context(), 0)
	assert.NilError(s.t, err)
}

func (s *simulation) look(p *process) {
	p.self = spread.Member{Name: p.name, Leads: map[string]float64{}}
	for partition, name := range s.leaders {
		if name == p.name {
			p.self.Leads[partition] = s.loads[partition]
		}
	}
}

func (s *simulation) announce(p *process) {
	err := p.store.Announce(s.t.Context(), p.self)
	if errors.Is(err, spread.ErrNameTaken) { // the process before
		s.counts["name taken"]++
		return
	}
	assert.NilError(s.t, err)
}

// carryOut has a process resign where nothing is assigned to it, and win the elections that have no leader.
func (s *simulation) carryOut(p *process) {
	for partition, name := range s.leaders {
		if name == p.name && p.view.Assignment.Members[partition] != p.name {
			delete(s.leaders, partition)
		}
	}
	for _, partition := range p.view.Assignment.Of(p.name) {
		if s.leaders[partition] == "" {
			s.leaders[partition] = p.name
		}
	}
}

// assign has a process that takes itself for the coordinator assign, by what it has read last.
func (s *simulation) assign(p *process) {
	next, changed := spread.Next(p.view.Assignment, s.partitions, p.view.Members, s.opt)
	if p.epoch == 0 || !changed {
		return
	}
	before := s.group.State().Assignment
	err := p.store.Assign(s.t.Context(), p.epoch, next)
	after := s.group.State().Assignment
	switch {
	case p.epoch != s.epoch:
		s.counts["another coordinator"]++
		assert.ErrorIs(s.t, err, spread.ErrNotCoordinator)
		assert.DeepEqual(s.t, after, before)
		p.epoch = 0
	case errors.Is(err, spread.ErrStale):
		s.counts["stale"]++
		assert.DeepEqual(s.t, after, before)
	default:
		assert.NilError(s.t, err)
		s.count(p.view, before, after)
	}
}

// count counts the moves from members that the coordinator knows.
func (s *simulation) count(view spread.State, before, after spread.Assignment) {
	n := 0
	for partition, name := range after.Members {
		from := before.Members[partition]
		known := slices.ContainsFunc(view.Members, func(m spread.Member) bool { return m.Name == from })
		if known && from != name && slices.Contains(s.partitions, partition) {
			n++
		}
	}
	assert.Assert(s.t, n <= s.opt.MaxMoves, "%d moves at once: %v, then %v", n, before, after)
	s.moves += n
	s.counts["moves"] += n
	s.counts["assigned"]++
}

// end ends a process. Its keys stay until their leases end.
func (s *simulation) end(p *process) {
	p.alive, p.epoch = false, 0
}

func (s *simulation) expire(p *process) {
	s.group.Expire(p.name)
	if !p.alive {
		maps.DeleteFunc(s.leaders, func(_, name string) bool { return name == p.name })
	}
}

// step has something happen to a member.
func (s *simulation) step() {
	p := s.members[s.random.IntN(len(s.members))]
	if !p.alive {
		if s.expire(p); s.random.IntN(3) == 0 {
			s.start(p)
		}
		return
	}
	switch s.random.IntN(20) {
	case 0:
		s.end(p)
	case 1:
		s.elect()
	case 2:
		s.expire(p) // it was announced late
	case 3:
		assert.NilError(s.t, p.store.Withdraw(s.t.Context()))
	case 4:
		s.partitions = names(1 + s.random.IntN(12))
	case 5:
		s.end(p)
		s.start(p) // before its key is gone
	case 6, 7, 8:
		s.read(p)
	case 9, 10:
		s.look(p)
	case 11, 12, 13:
		s.announce(p)
	case 14, 15, 16:
		s.carryOut(p)
	default:
		s.assign(p)
	}
}

// round has all members do everything once, in some order.
func (s *simulation) round() {
	for _, i := range s.random.Perm(len(s.members)) {
		if p := s.members[i]; p.alive {
			s.read(p)
			s.carryOut(p)
			s.look(p)
			s.announce(p)
			s.read(p)
			s.assign(p)
		}
	}
}

// After the last fault each partition is led by the member that it is assigned to, no move would gain, and nothing changes any more. Until then
// at most as many moves are made as there are partitions.
func TestSimulation_ComesToRestAfterFaults(t *testing.T) {
	total := map[string]int{}
	most := 0.0
	eachSeed(t, 3000, func(t *testing.T, random *rand.Rand) {
		s := newSimulation(t, random)
		for range 300 {
			s.step()
		}
		for _, p := range s.members {
			if !p.alive {
				s.expire(p)
			}
		}
		if !slices.ContainsFunc(s.members, func(p *process) bool { return p.alive }) {
			s.start(s.members[0])
		}
		for _, p := range s.members {
			if p.alive && p.store.Announce(t.Context(), p.self) != nil {
				s.expire(p) // the key of the process before ends
			}
		}
		s.elect()
		s.round() // now all are known
		s.round()
		s.moves = 0
		for range 5 + 3*len(s.partitions) {
			s.round()
		}
		assert.Assert(t, s.moves <= len(s.partitions), "%d moves of %d partitions", s.moves, len(s.partitions))
		most = max(most, float64(s.moves)/float64(len(s.partitions)))
		s.check()
		assigned := s.counts["assigned"]
		for range 5 {
			s.round()
		}
		assert.Equal(t, s.counts["assigned"], assigned, "it changes without a fault")
		for what, n := range s.counts {
			total[what] += n
		}
	})
	t.Logf("%v; after the faults at most %.2f moves for each partition", total, most)
}

// check checks what must hold once the faults have ended.
func (s *simulation) check() {
	state := s.group.State()
	g := cluster{partitions: s.partitions, members: map[string]bool{}, loads: s.loads, now: state.Assignment}
	for _, p := range s.members {
		if p.alive {
			g.members[p.name] = true
		}
	}
	assert.Equal(s.t, len(state.Members), len(g.members))
	for _, partition := range s.partitions {
		assert.Assert(s.t, g.members[s.leaders[partition]], "%s is led by %q", partition, s.leaders[partition])
	}
	assert.DeepEqual(s.t, s.leaders, state.Assignment.Members)
	partition, to := g.gaining(spread.DefaultGain)
	assert.Equal(s.t, partition, "", "a move to %s would gain: %v", to, state)
}
