package quota

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Application is the quota side of an application: its user, the leaf in which its asks and allocations count, and the
// accounts that limit it.
type Application struct {
	leaf            *Queue
	memberships     []Membership // in the accounts that limit it, of the leaf first
	countedRunning  bool         // counted among the running applications of its queues
	countedInLimits bool         // counted among the running applications of its limits
	restarting      bool         // has asked again after it had nothing left, and has had no allocation since (LIM-19)
	user            security.User
	owner           any
}

// Init makes a the quota side of an application of user in leaf. Owner returns owner.
func (a *Application) Init(user security.User, leaf *Queue, owner any) {
	a.user, a.leaf, a.owner = user, leaf, owner
}

// User returns the submitting user, with groups.
func (a *Application) User() security.User { return a.user }

// Owner returns the object that has a as its quota side: it leads from the members of an account back to it.
func (a *Application) Owner() any { return a.owner }

// Memberships returns the memberships of a in the accounts that limit it. Read-only.
func (a *Application) Memberships() []Membership { return a.memberships }

// MemberOf reports whether a counts in x.
func (a *Application) MemberOf(x *Account) bool {
	return slices.ContainsFunc(a.memberships, func(m Membership) bool { return m.account == x })
}

// RestrictToHeadroom removes from f the shapes for which the user limit or the group limit of a
// leaves no headroom (LIM-11).
func (a *Application) RestrictToHeadroom(f feasibility.Mask) {
	for _, m := range a.memberships {
		f.IntersectWith(m.account.fit)
	}
}

// LimitGroup returns the group whose limits apply to a: the first, from the leaf up, that a limit names
// and the user has (LIM-6). ok is false if there is none.
func (a *Application) LimitGroup() (group string, ok bool) {
	for q := a.leaf; q != nil; q = q.parent {
		group, ok = q.limits.ResolveGroup(a.user.Groups)
		if ok {
			return group, true
		}
	}
	return "", false
}

// eachLimit yields the limits that apply to a: those of its user and of its group, in its leaf and in every
// queue above (LIM-3).
func (a *Application) eachLimit(yield func(q *Queue, h UserOrGroup, limit *limits.Limit)) {
	group, grouped := a.LimitGroup()
	for q := a.leaf; q != nil; q = q.parent {
		if limit, ok := q.limits.ForUser(a.user.Name); ok {
			yield(q, UserOrGroup{Name: a.user.Name}, &limit)
		}
		if !grouped {
			continue
		}
		if limit, ok := q.limits.ForGroup(group); ok {
			yield(q, UserOrGroup{Group: true, Name: group}, &limit)
		}
	}
}

// LimitCount returns the number of limits that apply to a.
func (a *Application) LimitCount() (n int) {
	a.eachLimit(func(*Queue, UserOrGroup, *limits.Limit) { n++ })
	return n
}

// Join adds a, which uses used, to every account that limits it. The caller must fit the accounts again.
func (a *Application) Join(used resources.Vector, names *resources.NameTable) {
	a.eachLimit(func(q *Queue, h UserOrGroup, limit *limits.Limit) {
		x := q.accounts[h]
		if x == nil {
			x = newAccount(q, h, limit, names)
			if q.accounts == nil {
				q.accounts = map[UserOrGroup]*Account{}
			}
			q.accounts[h] = x
		}
		x.add(a, used)
	})
}

// JoinHypothetically does what Join does, for an application of a dry run: no account changes, and a missing account is
// hypothetical too.
func (a *Application) JoinHypothetically(names *resources.NameTable) {
	a.eachLimit(func(q *Queue, h UserOrGroup, limit *limits.Limit) {
		x := q.accounts[h]
		if x == nil {
			x = newAccount(q, h, limit, names)
		}
		a.memberships = append(a.memberships, Membership{account: x})
	})
}

// Leave removes a from all its accounts and returns its former memberships. Requires: a has no allocations and does not
// run.
func (a *Application) Leave() (former []Membership) {
	former, a.memberships = a.memberships, nil
	for _, m := range former {
		m.account.remove(m.index)
	}
	return former
}

// LoseMemberships ends all memberships of a, when all accounts are built again (see Queue.DropAccounts).
func (a *Application) LoseMemberships() { a.memberships = nil }
