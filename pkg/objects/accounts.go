package objects

import (
	"cmp"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// account is what a user or a group may use in a queue, and uses (behaviour.md 8). There is
// one where a limit says something about an application that is there: what is not limited
// is not counted. It goes with the last of its members.
type account struct {
	queue     *Queue
	holder    Holder
	limit     resources.Limit // on resources
	max       resources.Bound // limit, dense
	most      uint64          // applications that may run; 0: any number
	allocated resources.Vector
	running   int            // applications that do
	members   []*Application // in no order
	listed    bool           // it is in Partition.watch
	fit       Mask           // the shapes that max leaves room for, without those of applications that may not start
}

// Holder is whom a limit is about.
type Holder struct {
	Group bool // else a user
	Name  string
}

func (h Holder) String() string {
	if h.Group {
		return "group " + h.Name
	}
	return "user " + h.Name
}

// compare puts users before groups, in name order.
func (h Holder) compare(o Holder) int {
	if h.Group != o.Group {
		return count(h.Group) - count(o.Group)
	}
	return cmp.Compare(h.Name, o.Name)
}

// Limited is an account, for reading. It is immutable.
type Limited struct {
	Holder       Holder
	Max          resources.Limit // missing: unlimited
	Allocated    resources.Amounts
	MaxRunning   uint64 // 0: any number
	Running      int
	Applications int // of the holder in the queue, running or not
}

// Limited are those who are limited in q and have an application there or below, users
// first, in name order.
func (p *Partition) Limited(q *Queue) persistent.List[Limited] {
	out := make([]*Limited, 0, len(q.accounts))
	for _, x := range q.accounts {
		out = append(out, p.limited(x))
	}
	slices.SortFunc(out, func(a, b *Limited) int { return a.Holder.compare(b.Holder) })
	return persistent.ListOf(out...)
}

func (p *Partition) limited(x *account) *Limited {
	return &Limited{x.holder, x.limit, p.names.Amounts(x.allocated), x.most, x.running, len(x.members)}
}

// Compare puts users before groups, in name order.
func (l *Limited) Compare(other *Limited) int { return l.Holder.compare(other.Holder) }

// seat is the membership of an application in an account.
type seat struct {
	account *account
	place   int // among the members
}

// enroll makes a member of every account that limits it: those of its user and of its
// group, in its leaf and in every queue above.
func (p *Partition) enroll(a *Application) {
	group, grouped := a.limitGroup()
	for q := a.queue; q != nil; q = q.parent {
		if rule, ok := limits.OfUser(q.conf.Limits, a.user.Name); ok {
			p.sit(a, q, Holder{Name: a.user.Name}, rule)
		}
		if !grouped {
			continue
		}
		if rule, ok := limits.OfGroup(q.conf.Limits, group); ok {
			p.sit(a, q, Holder{Group: true, Name: group}, rule)
		}
	}
}

// limitGroup is the group whose limits count for a: the first, from the leaf up, that a
// limit names and the user has (behaviour.md 8.3).
func (a *Application) limitGroup() (group string, ok bool) {
	for q := a.queue; q != nil; q = q.parent {
		if group, ok = limits.GroupFor(q.conf.Limits, a.user.Groups); ok {
			return group, true
		}
	}
	return "", false
}

// relimit makes all accounts anew, after limits changed. Groups are found anew too, so
// that what holds depends on the configuration in force and on no earlier one.
func (p *Partition) relimit() {
	p.Unwatch() // all accounts are made anew
	p.gated, p.turned = p.isGated(), nil
	for _, q := range p.queues {
		p.rule(q)
	}
	for _, q := range p.queues {
		q.accounts = nil
	}
	for _, id := range slices.Sorted(maps.Keys(p.apps)) { // sorted: slots come out the same every time
		a := p.apps[id]
		for _, c := range a.classes.list {
			p.dress(c, p.gateOf(a))
		}
		a.seats = nil
	}
	for _, a := range p.apps {
		p.enroll(a)
		p.noticeAll(a)
	}
}

// Limited reports whether a limit of its user or its group counts for a.
func (a *Application) Limited() bool { return len(a.seats) > 0 }

// LimitGroup is the group whose limits count for a; empty: none.
func (a *Application) LimitGroup() string {
	group, _ := a.limitGroup()
	return group
}

func (p *Partition) sit(a *Application, q *Queue, h Holder, rule limits.Rule) {
	x := q.accounts[h]
	if x == nil {
		x = &account{queue: q, holder: h, limit: rule.MaxResources, max: p.names.Bound(rule.MaxResources), most: rule.MaxApplications}
		if q.accounts == nil {
			q.accounts = map[Holder]*account{}
		}
		q.accounts[h] = x
	}
	x.allocated.Add(a.allocated)
	x.allocated.Add(a.placeholders)
	if a.charged {
		x.running++
	}
	a.seats = append(a.seats, seat{x, len(x.members)})
	x.members = append(x.members, a)
	p.changedAccount(x)
	p.slots.settle(p.names.Len())
	p.fitAccount(x, &x.fit)
}

// dismiss takes a out of all its accounts. Requires: it holds nothing and does not run.
func (p *Partition) dismiss(a *Application) {
	for _, s := range a.seats {
		x, end := s.account, len(s.account.members)-1
		p.changedAccount(x)
		last := x.members[end]
		x.members[s.place], x.members[end] = last, nil
		x.members = x.members[:end]
		for i := range last.seats {
			if last.seats[i].account == x {
				last.seats[i].place = s.place
			}
		}
		if end == 0 {
			delete(x.queue.accounts, x.holder)
		}
	}
	a.seats = nil
}

// charge moves v in the accounts of a.
func (p *Partition) charge(a *Application, v resources.Vector, sign int) {
	for _, s := range a.seats {
		move(&s.account.allocated, v, sign)
		p.changedAccount(s.account)
		if len(s.account.max) > 0 {
			p.refitAccount(s.account)
		}
	}
}

// refitAccount decides which shapes x leaves room for, after its books changed. When that
// is another answer than before, its members stand anew as soon as the one whose books
// changed does.
func (p *Partition) refitAccount(x *account) {
	p.fitAccount(x, &p.fitting)
	if !p.fitting.same(x.fit) {
		x.fit.copyFrom(p.fitting)
		p.turned = append(p.turned, x)
	}
}

func (p *Partition) fitAccount(x *account, fit *Mask) {
	p.slots.settle(p.names.Len())
	p.slots.all(fit)
	for i := range x.max {
		k, left := x.max.Left(i, x.allocated)
		p.slots.within(*fit, k, left)
	}
	if x.full() {
		fit.without(p.slots.gated)
	}
}

// full reports whether no further application of the holder may start.
func (x *account) full() bool { return x.most > 0 && uint64(x.running) >= x.most }

// allows reports whether x alone leaves room for an ask of shape s.
func (x *account) allows(s *Shape) bool {
	return !(s.gate != open && x.full()) && x.max.Allows(x.allocated, s.vector)
}
