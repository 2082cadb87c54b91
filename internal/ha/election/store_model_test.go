package election_test

import (
	"time"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
)

// storeModel is etcd as far as an election sees it: one linear history, leases on its own clock, watches.
type storeModel struct {
	sim      *simulation
	rate     float64
	revision int64
	lastID   election.LeaseID
	leases   map[election.LeaseID]*leaseModel
	key      *keyModel     // nil: there is none
	keyGone  time.Duration // when a key was removed the last time
	changed  int64         // the revision of the last change of the key
	watches  []watchModel
}

type leaseModel struct {
	ttl  time.Duration
	ends time.Duration // by the clock of the store
}

type keyModel struct {
	lease  election.LeaseID
	epoch  int64
	leader election.Leader
}

type watchModel struct {
	after  int64
	answer func(election.Answer)
}

func (e *storeModel) clock() time.Duration { return time.Duration(e.rate * float64(e.sim.now)) }

// extend gives a lease its whole time to live.
func (e *storeModel) extend(id election.LeaseID) {
	l := e.leases[id]
	l.ends = e.clock() + l.ttl
	e.sim.at(time.Duration(float64(l.ends)/e.rate)+1, e.expire)
}

// expire ends the leases that are due.
func (e *storeModel) expire() {
	for id, l := range e.leases {
		if l.ends <= e.clock() {
			e.endLease(id)
		}
	}
}

func (e *storeModel) endLease(id election.LeaseID) {
	delete(e.leases, id)
	if e.key != nil && e.key.lease == id {
		e.sim.note("the key of %s is gone", e.key.leader.Name)
		e.key, e.keyGone = nil, e.sim.now
		e.change()
	}
}

// change answers the watches.
func (e *storeModel) change() {
	e.revision++
	e.changed = e.revision
	for _, w := range e.watches {
		w.answer(election.Answer{})
	}
	e.watches = nil
}

// elected is when another part of the store becomes its leader: leases have their whole time again, as in etcd.
func (e *storeModel) elected() {
	for id := range e.leases {
		e.extend(id)
	}
}

// handle carries a request out; answer may be called later.
func (e *storeModel) handle(r election.Request, answer func(election.Answer)) {
	e.expire()
	switch r.Op {
	case election.Read:
		a := election.Answer{Revision: e.revision}
		if e.key != nil {
			a.Found, a.Leader, a.Epoch = true, e.key.leader, e.key.epoch
		}
		answer(a)
	case election.Watch:
		if e.changed > r.Revision {
			answer(election.Answer{})
			return
		}
		e.watches = append(e.watches, watchModel{r.Revision, answer})
	case election.Grant:
		e.lastID++
		e.leases[e.lastID] = &leaseModel{ttl: r.TTL}
		e.extend(e.lastID)
		answer(election.Answer{Lease: e.lastID, TTL: r.TTL})
	case election.Create:
		e.create(r, answer)
	case election.Renew:
		if e.leases[r.Lease] == nil {
			answer(election.Answer{Err: election.ErrLeaseLost})
			return
		}
		e.extend(r.Lease)
		answer(election.Answer{TTL: e.leases[r.Lease].ttl})
	case election.Revoke:
		if e.leases[r.Lease] != nil {
			e.endLease(r.Lease)
		}
		answer(election.Answer{})
	}
}

func (e *storeModel) create(r election.Request, answer func(election.Answer)) {
	switch {
	case e.key != nil:
		answer(election.Answer{Found: true})
	case e.leases[r.Lease] == nil:
		answer(election.Answer{Err: election.ErrLeaseLost})
	default:
		e.change()
		e.key = &keyModel{r.Lease, e.revision, r.Leader}
		answer(election.Answer{Epoch: e.revision})
	}
}
