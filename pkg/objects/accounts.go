package objects

import (
	"maps"
	"slices"
)

// joinAccounts adds a to every account that limits it.
func (p *Partition) joinAccounts(a *Application) {
	a.quota.Join(a.used(), p.names)
	for _, m := range a.quota.Memberships() {
		p.journal.post(Change{Kind: AccountMembersChanged, Account: m.Account()})
	}
}

// leaveAccounts removes a from all its accounts. Requires: it has no allocations and does not run.
func (p *Partition) leaveAccounts(a *Application) {
	for _, m := range a.quota.Leave() {
		p.journal.post(Change{Kind: AccountMembersChanged, Account: m.Account()})
	}
}

// rebuildAccounts builds all accounts again after limits changed. Groups are determined again too,
// so that the result depends on the configuration in force only (LIM-28).
func (p *Partition) rebuildAccounts() {
	p.quotas.ApplyMaxApplications()
	for _, q := range p.queues {
		q.updatePolicy(&p.conf)
	}
	for _, q := range p.queues {
		q.quota.DropAccounts()
	}
	for _, id := range slices.Sorted(maps.Keys(p.apps)) { // sorted: slots are assigned in a fixed order
		a := p.apps[id]
		for _, c := range a.askGroups.list {
			p.setMaxAppsCheck(c, p.quotas.MaxAppsCheckOf(&a.quota))
		}
		a.quota.LoseMemberships()
	}
	for _, a := range p.apps {
		p.joinAccounts(a)
		p.journal.post(Change{Kind: MayPreemptChanged, App: a})
	}
}

// Limited reports whether a limit of its user or its group applies to a.
func (a *Application) Limited() bool { return len(a.quota.Memberships()) > 0 }

// LimitGroup is the group whose limits apply to a; empty: none.
func (a *Application) LimitGroup() string {
	group, _ := a.quota.LimitGroup()
	return group
}
