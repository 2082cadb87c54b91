package election_test

import (
	"errors"
	"time"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
)

var errTimeout = errors.New("no answer in time")

// memberModel is a process that is a member.
type memberModel struct {
	sim         *simulation
	name        string
	rate        float64
	origin      election.Instant
	candidate   *election.Candidate
	life        int // counts the processes: a message to one that was killed has no effect
	term        *election.Term
	unreachable bool
	pausedUntil time.Duration
	wakes       int // counts the calls of Tick that are due: only the last one counts
}

// clock is the clock of the member now.
func (m *memberModel) clock() election.Instant {
	return m.origin + election.Instant(m.rate*float64(m.sim.now))
}

// start starts a process, which may lead at once.
func (m *memberModel) start() {
	m.life++
	m.term = nil
	m.candidate = election.NewCandidate(election.Leader{Name: m.name}, ttl)
	m.step(func(now election.Instant) []election.Request {
		return append(m.candidate.Start(now), m.candidate.Resume(now)...)
	})
}

// whenRunning has something done in this process when it does not pause.
func (m *memberModel) whenRunning(do func()) {
	life := m.life
	var try func()
	try = func() {
		switch {
		case life != m.life:
		case m.sim.now < m.pausedUntil:
			m.sim.at(m.pausedUntil, try)
		default:
			do()
		}
	}
	try()
}

// step has the candidate do something, sends what it asks, and notes what has changed.
func (m *memberModel) step(do func(now election.Instant) []election.Request) {
	for _, r := range do(m.clock()) {
		m.send(r)
	}
	if t := m.candidate.Term(); t != m.term {
		if m.term != nil {
			m.sim.note("%s has ended its term: %s", m.name, m.candidate.Ended())
			m.sim.counts[string(m.candidate.Ended())]++
			m.resumeLater()
		}
		m.term = t
		if t != nil {
			m.sim.began(m, t)
		}
	}
	m.wakes++
	wake := m.wakes
	if next := m.candidate.Next(); next < m.clock().Add(time.Hour) {
		m.sim.after(time.Duration(float64(next.Sub(m.clock()))/m.rate)+1, func() {
			m.whenRunning(func() {
				if wake == m.wakes {
					m.step(m.candidate.Tick)
				}
			})
		})
	}
}

// resumeLater lets the member lead again when what its term had begun has ended.
func (m *memberModel) resumeLater() {
	life := m.life
	m.sim.after(time.Duration(m.sim.random.Int64N(int64(time.Second))), func() {
		if life == m.life {
			m.whenRunning(func() { m.step(m.candidate.Resume) })
		}
	})
}

// send brings a request to the store and its answer back, or an error when that takes too long.
func (m *memberModel) send(r election.Request) {
	life := m.life
	receive := func(a election.Answer) {
		if life != m.life {
			return
		}
		m.whenRunning(func() {
			a.ID = r.ID
			if m.candidate.Waits(r.ID) {
				m.step(func(now election.Instant) []election.Request { return m.candidate.Handle(now, a) })
			}
		})
	}
	m.sim.after(time.Duration(float64(r.Timeout)/m.rate), func() { receive(election.Answer{Err: errTimeout}) })
	m.carry(func() {
		m.sim.store.handle(r, func(a election.Answer) { m.carry(func() { receive(a) }) })
	})
}

// carry is a message between the member and the store, in either direction.
func (m *memberModel) carry(arrive func()) {
	d, lost := m.sim.delay()
	if lost || m.unreachable {
		return
	}
	m.sim.after(d, func() {
		if !m.sim.outage && !m.unreachable {
			arrive()
		}
	})
}
