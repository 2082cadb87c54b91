package election_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
)

// simulation is a group of members and their store in true time. Each clock has a rate of its own; messages are
// delayed, lost and overtake each other; members pause, are killed and resign; the network between a member and the
// store fails, and so does the store.
type simulation struct {
	random  *rand.Rand
	now     time.Duration
	events  eventHeap
	ordered int // events of the same time happen in the order in which they were made
	store   *storeModel
	members []*memberModel
	healthy bool // no faults happen any more
	outage  bool // the store is not reached

	terms    []*termModel
	highest  int64 // epoch
	problems []string
	notes    []note
	counts   map[string]int
}

// termModel is a term that has begun, also after its member has ended it.
type termModel struct {
	member *memberModel
	term   *election.Term
	over   bool // MaySend was false
}

// Bounds of the simulation.
const (
	ttl         = 10 * time.Second
	maxSkew     = 0.01 // by how much a clock may differ from true time
	chaosTime   = 20 * ttl
	calmTime    = 10 * ttl
	electWithin = 5 * ttl / 2 // of the end of all faults
)

func newSimulation(seed uint64, members int) *simulation {
	s := &simulation{random: rand.New(rand.NewPCG(seed, 17)), counts: map[string]int{}}
	s.store = &storeModel{sim: s, rate: s.rate(), leases: map[election.LeaseID]*leaseModel{}}
	for i := range members {
		m := &memberModel{sim: s, name: fmt.Sprintf("m%d", i), rate: s.rate(),
			origin: election.Instant(s.random.Int64N(int64(time.Hour)))}
		s.members = append(s.members, m)
		m.start()
	}
	return s
}

// rate is that of a clock: with equal odds the slowest, the fastest, or one between.
func (s *simulation) rate() float64 {
	switch s.random.IntN(3) {
	case 0:
		return 1 - maxSkew
	case 1:
		return 1 + maxSkew
	}
	return 1 + maxSkew*(2*s.random.Float64()-1)
}

// at has something done at a true time.
func (s *simulation) at(when time.Duration, do func()) {
	s.ordered++
	heap.Push(&s.events, event{max(when, s.now), s.ordered, do})
}

func (s *simulation) after(d time.Duration, do func()) { s.at(s.now+d, do) }

// run runs until a true time, and checks the law at each event: what a member may send begins at events only, so two
// that may send at the same time are found.
func (s *simulation) run(until time.Duration) {
	for len(s.events) > 0 && s.events[0].at <= until && len(s.problems) == 0 {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
		s.checkLaw()
	}
	s.now = until
}

func (s *simulation) checkLaw() {
	var sender *termModel
	for _, t := range s.terms {
		may := t.term.MaySend(t.member.clock())
		if may && t.over {
			s.problem("%s may send again in epoch %d", t.member.name, t.term.Epoch())
		}
		t.over = !may
		switch {
		case !may:
		case sender == nil:
			sender = t
		default:
			s.problem("%s in epoch %d and %s in epoch %d may send", sender.member.name, sender.term.Epoch(), t.member.name,
				t.term.Epoch())
		}
	}
}

// began notes a term that has just begun.
func (s *simulation) began(m *memberModel, t *election.Term) {
	s.note("%s leads in epoch %d", m.name, t.Epoch())
	s.counts["term"]++
	if t.Epoch() <= s.highest {
		s.problem("epoch %d of %s follows epoch %d", t.Epoch(), m.name, s.highest)
	}
	s.highest = t.Epoch()
	if n := len(s.terms); n > 0 && s.now-s.store.keyGone < ttl/50 {
		s.counts["successor at once"]++
	}
	s.terms = append(s.terms, &termModel{member: m, term: t})
	if n := len(s.terms); n > 8 { // the earlier ones are long over
		s.terms = s.terms[n-8:]
	}
}

// leading is how many members may send now.
func (s *simulation) leading() (n int) {
	for _, t := range s.terms {
		if t.term.MaySend(t.member.clock()) {
			n++
		}
	}
	return n
}

func (s *simulation) note(format string, args ...any) {
	s.notes = append(s.notes, note{s.now, format, args})
}

// history is what has happened, as text.
func (s *simulation) history() string {
	var b strings.Builder
	for _, n := range s.notes {
		fmt.Fprintf(&b, "\n%8.3f s ", n.at.Seconds())
		fmt.Fprintf(&b, n.format, n.args...)
	}
	return b.String()
}

// note is a line of the history; it becomes text only when it is shown.
type note struct {
	at     time.Duration
	format string
	args   []any
}

func (s *simulation) problem(format string, args ...any) {
	s.note("PROBLEM: "+format, args...)
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// delay is how long a message takes; lost: it never arrives.
func (s *simulation) delay() (d time.Duration, lost bool) {
	d = time.Millisecond + time.Duration(s.random.Int64N(int64(20*time.Millisecond)))
	if s.healthy {
		return d, false
	}
	switch s.random.IntN(20) {
	case 0:
		return 0, true
	case 1: // it waits in a buffer of the network or of the store
		return d + time.Duration(s.random.Int64N(int64(2*ttl))), false
	case 2, 3: // about as long as a call may take
		return d + time.Duration(s.random.Int64N(int64(ttl/5))), false
	}
	return d, false
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	n := len(*h) - 1
	x := (*h)[n]
	*h = (*h)[:n]
	return x
}
