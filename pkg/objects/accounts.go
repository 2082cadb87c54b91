package objects

import (
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// account is what a user or a group uses in and below a queue, and the limit for it. It exists
// while a limit applies to an application there (LIM-31), and is removed with its last member.
type account struct {
	queue           *Queue
	userOrGroup     quota.UserOrGroup
	limit           resources.Limit       // on resources
	max             resources.LimitVector // limit, dense
	maxApplications uint64                // applications that may run; 0: any number
	allocated       resources.Vector
	running         int              // number of running applications
	members         []*Application   // in no order
	changeRecorded  bool             // in snapshotChanges.watch
	fit             feasibility.Mask // the shapes that are within max, without those of applications that may not start
}

// LimitUsage is a copy of an account. It is immutable.
type LimitUsage struct {
	UserOrGroup     quota.UserOrGroup
	Max             resources.Limit // missing: unlimited
	Allocated       resources.Amounts
	MaxApplications uint64 // 0: any number
	Running         int
	Applications    int // applications of the user or group in the queue, running or not
}

// LimitUsages are the users and groups with a limit in q and an application in or below it, users
// first, by name.
func (p *Partition) LimitUsages(q *Queue) persistent.List[LimitUsage] {
	out := make([]*LimitUsage, 0, len(q.accounts))
	for _, x := range q.accounts {
		out = append(out, p.newLimitUsage(x))
	}
	slices.SortFunc(out, func(a, b *LimitUsage) int { return a.UserOrGroup.Compare(b.UserOrGroup) })
	return persistent.ListOf(out...)
}

func (p *Partition) newLimitUsage(x *account) *LimitUsage {
	return &LimitUsage{x.userOrGroup, x.limit, p.names.Amounts(x.allocated), x.maxApplications, x.running, len(x.members)}
}

// Compare orders users before groups, each by name.
func (l *LimitUsage) Compare(other *LimitUsage) int { return l.UserOrGroup.Compare(other.UserOrGroup) }

// membership is the membership of an application in an account.
type membership struct {
	account *account
	index   int // in account.members
}

// joinAccounts adds a to every account of every account that limits it: those of its user and of its
// group, in its leaf and in every queue above (LIM-3).
func (p *Partition) joinAccounts(a *Application) {
	group, grouped := a.limitGroup()
	for q := a.queue; q != nil; q = q.parent {
		if limit, ok := limits.ForUser(q.conf.Limits, a.User().Name); ok {
			p.joinAccount(a, q, quota.UserOrGroup{Name: a.User().Name}, limit)
		}
		if !grouped {
			continue
		}
		if limit, ok := limits.ForGroup(q.conf.Limits, group); ok {
			p.joinAccount(a, q, quota.UserOrGroup{Group: true, Name: group}, limit)
		}
	}
}

// limitGroup is the group whose limits apply to a: the first, from the leaf up, that a limit names
// and the user has (LIM-6).
func (a *Application) limitGroup() (group string, ok bool) {
	for q := a.queue; q != nil; q = q.parent {
		if group, ok = limits.ResolveGroup(q.conf.Limits, a.User().Groups); ok {
			return group, true
		}
	}
	return "", false
}

// rebuildAccounts builds all accounts again after limits changed. Groups are determined again too,
// so that the result depends on the configuration in force only (LIM-28).
func (p *Partition) rebuildAccounts() {
	p.quotas.ApplyMaxApplications()
	for _, q := range p.queues {
		q.updatePolicy(&p.conf)
	}
	for _, q := range p.queues {
		q.accounts = nil
	}
	for _, id := range slices.Sorted(maps.Keys(p.apps)) { // sorted: slots are assigned in a fixed order
		a := p.apps[id]
		for _, c := range a.askGroups.list {
			p.setMaxAppsCheck(c, p.maxAppsCheckOf(a))
		}
		a.memberships = nil
	}
	for _, a := range p.apps {
		p.joinAccounts(a)
		p.journal.mayPreemptChanged(a)
	}
}

// Limited reports whether a limit of its user or its group applies to a.
func (a *Application) Limited() bool { return len(a.memberships) > 0 }

// LimitGroup is the group whose limits apply to a; empty: none.
func (a *Application) LimitGroup() string {
	group, _ := a.limitGroup()
	return group
}

func (p *Partition) joinAccount(a *Application, q *Queue, h quota.UserOrGroup, limit limits.Limit) {
	x := q.accounts[h]
	if x == nil {
		x = &account{queue: q, userOrGroup: h, limit: limit.MaxResources, max: p.names.LimitVector(limit.MaxResources), maxApplications: limit.MaxApplications}
		if q.accounts == nil {
			q.accounts = map[quota.UserOrGroup]*account{}
		}
		q.accounts[h] = x
	}
	x.allocated.Add(a.allocated)
	x.allocated.Add(a.placeholders)
	if a.countedInLimits {
		x.running++
	}
	a.memberships = append(a.memberships, membership{x, len(x.members)})
	x.members = append(x.members, a)
	p.journal.accountMembersChanged(x)
	p.shapes.AddResources(p.names.Len())
	p.journal.order.fitAccount(x, &x.fit)
}

// leaveAccounts removes a from all its accounts. Requires: it has no allocations and does not run.
func (p *Partition) leaveAccounts(a *Application) {
	for _, s := range a.memberships {
		x, end := s.account, len(s.account.members)-1
		p.journal.accountMembersChanged(x)
		last := x.members[end]
		x.members[s.index], x.members[end] = last, nil
		x.members = x.members[:end]
		for i := range last.memberships {
			if last.memberships[i].account == x {
				last.memberships[i].index = s.index
			}
		}
		if end == 0 {
			delete(x.queue.accounts, x.userOrGroup)
		}
	}
	a.memberships = nil
}

// postToAccounts adds v to (sign 1), or subtracts it from (sign -1), the accounts of a.
func (p *Partition) postToAccounts(a *Application, v resources.Vector, sign int) {
	for _, s := range a.memberships {
		addSigned(&s.account.allocated, v, sign)
		p.journal.accountUsageChanged(s.account)
	}
}

// refitAccount computes the shapes that are within the limit of x, after its usage changed. If they
// changed, Partition.reindex updates the other members too.
func (o *ordering) refitAccount(x *account) {
	o.fitAccount(x, &o.fitScratch)
	if !o.fitScratch.Equal(x.fit) {
		x.fit.CopyFrom(o.fitScratch)
		o.refitAccounts = append(o.refitAccounts, x)
	}
}

func (o *ordering) fitAccount(x *account, fit *feasibility.Mask) {
	o.shapes.AddResources(o.names.Len())
	o.shapes.SetAll(fit)
	for i := range x.max {
		k, left := x.max.Remaining(i, x.allocated)
		o.shapes.DropExceeding(*fit, k, left)
	}
	if x.atMaxApplications() {
		o.shapes.DropVariant(*fit, quota.MaxAppsQueuesAndLimits)
		o.shapes.DropVariant(*fit, quota.MaxAppsLimitsOnly)
	}
}

// atMaxApplications reports whether no further application of x may start.
func (x *account) atMaxApplications() bool {
	return x.maxApplications > 0 && uint64(x.running) >= x.maxApplications
}

// allows reports whether an ask of shape s is within the limit of x.
func (x *account) allows(s *feasibility.Shape) bool {
	return !(s.Variant() != quota.MaxAppsUnchecked && x.atMaxApplications()) && x.max.Allows(x.allocated, s.Vector())
}
